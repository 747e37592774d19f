# What checks say of files outside.
unchanged() { [ "$(cat "$1" 2>/dev/null)" = intact ]; }
absent() { [ ! -e "$1" ] && [ ! -L "$1" ]; }
clean() { ! grep -rqs ESCAPED "$1"; }
victim=$(cat /outside/victim)
