# Servers and a process of the outside. Who reaches a server gets a word and is written down.
use strict;
use warnings;
use Socket;

sub seen { open(my $file, ">", "/log/$_[0]"); close($file) }

# an own loopback: SIOCSIFFLAGS, up and running
socket(my $any, PF_INET, SOCK_DGRAM, 0) or die;
my $request = pack("a16 s x22", "lo", 0x41);
ioctl($any, 0x8914, $request) or die "lo: $!";

my $pid = fork();
if (!$pid) {
    $ENV{VICTIM} = "ESCAPED-environment";
    exec("perl", "-e", 'our $held = "ESCAPED-" . "memory"; open(my $f, ">", "/outside/victim"); print $f "$$\n"; close($f);
        sleep 1 while 1', "ESCAPED-arguments");
}
my %streams;
my %listening = (tcp => pack_sockaddr_in(7001, INADDR_LOOPBACK), declared => pack_sockaddr_in(7004, INADDR_LOOPBACK),
    unix => pack_sockaddr_un("/outside/socket"),
    abstract => pack_sockaddr_un("\0escape"), project => pack_sockaddr_un("/home/user/files/outside.socket"));
mkdir("/home/user/files");
for my $name (keys %listening) {
    socket(my $socket, length($listening{$name}) == 16 ? PF_INET : PF_UNIX, SOCK_STREAM, 0) or die;
    bind($socket, $listening{$name}) && listen($socket, 5) or die "$name: $!";
    $streams{$name} = $socket;
}
my %packets;
for my $port (7002, 53) {
    socket(my $socket, PF_INET, SOCK_DGRAM, 0) or die;
    bind($socket, pack_sockaddr_in($port, INADDR_LOOPBACK)) or die "$port: $!";
    $packets{$port} = $socket;
}
select(undef, undef, undef, 0.02) while !-s "/outside/victim";
seen("ready");
while (1) {
    my $wanted = "";
    vec($wanted, fileno($_), 1) = 1 for values %streams, values %packets;
    next if select(my $ready = $wanted, undef, undef, undef) <= 0;
    for my $name (grep { vec($ready, fileno($streams{$_}), 1) } keys %streams) {
        accept(my $client, $streams{$name}) or next;
        seen($name);
        syswrite($client, "ESCAPED to $name\n");
    }
    for my $port (grep { vec($ready, fileno($packets{$_}), 1) } keys %packets) {
        my $from = recv($packets{$port}, my $text, 2000, 0);
        seen("udp-$port");
        send($packets{$port}, "ESCAPED to $port\n", 0, $from) if $port != 53;
    }
}
