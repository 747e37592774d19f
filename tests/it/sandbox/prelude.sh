# What the rows use. `call NAME NUMBER ARGUMENTS`: a system call; an argument that begins with `@` is a text.
victim=$(cat /outside/victim)
call() {
    perl -e 'my ($name, $call, @given) = @ARGV;
        my @values = map { /^@(.*)/s ? "$1\0" : (/^0x/ ? hex : $_ + 0) } @given;
        my $answer = syscall($call + 0, @values);
        if ($answer == -1) { print STDERR "$name: $!\n"; exit 1 }
        print "ESCAPED by $name\n"' "$@"
}
# `reach CONNECTION`: what a server of the outside says.
reach() {
    perl -MSocket -e 'my ($kind, $place) = @ARGV;
        sub end { print STDERR "$kind $place: $!\n"; exit 1 }
        alarm 5;
        if ($kind eq "tcp") {
            socket(S, PF_INET, SOCK_STREAM, 0) or end;
            connect(S, pack_sockaddr_in($place, inet_aton("127.0.0.1"))) or end;
        } elsif ($kind eq "udp") {
            socket(S, PF_INET, SOCK_DGRAM, 0) or end;
            connect(S, pack_sockaddr_in($place, inet_aton("127.0.0.1"))) or end;
            send(S, "x", 0) or end;
        } else {
            socket(S, PF_UNIX, SOCK_STREAM, 0) or end;
            connect(S, pack_sockaddr_un($kind eq "abstract" ? "\0$place" : $place)) or end;
        }
        defined(recv(S, my $text, 100, 0)) or end;
        print $text' "$@"
}
