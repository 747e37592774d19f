# A server of the model context protocol: `$1` is how it behaves, `$2` how many tools it has.
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
notify() { printf '{"jsonrpc":"2.0","method":"notifications/%s","params":%s}\n' "$1" "$2"; }
text() { answer "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
letters() { head -c "$1" /dev/zero | tr '\0' x; }
echo start >> starts
added= more_resources= more_prompts=
if [ -s gained ]; then added=",{\"name\":\"$(cat gained)\",\"inputSchema\":{\"type\":\"object\"}}"; fi
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*)
      case $1 in
        hangs) sleep 1000 ;;
        garbage) echo 'Welcome to the server!'; continue ;;
        dies) echo 'no licence' >&2; exit 3 ;;
        chatty) echo 'Welcome to the server!' ;;
      esac
      answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"listChanged":true},"prompts":{"listChanged":true}},"serverInfo":{"name":"t","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      tools='{"name":"look","description":"Looks.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}'
      tools="$tools,{\"name\":\"do it\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}},\"annotations\":{\"idempotentHint\":true}},{\"name\":\"die\",\"inputSchema\":{\"type\":\"object\"},\"annotations\":{\"destructiveHint\":false}}$added"
      n=3
      while [ $n -lt "${2:-3}" ]; do tools="$tools,{\"name\":\"t$n\",\"inputSchema\":{\"type\":\"object\"}}"; n=$((n + 1)); done
      answer "{\"tools\":[$tools]}" ;;
    *'"method":"resources/list"'*)
      answer '{"resources":[{"uri":"note://one","name":"one","description":"The first note"},{"uri":"note://picture","name":"picture","mimeType":"image/png"}'"$more_resources"']}' ;;
    *'"method":"resources/read"'*)
      case $line in
        *note://one*) answer '{"contents":[{"uri":"note://one","mimeType":"text/plain","text":"buy milk"}]}' ;;
        *note://picture*) answer '{"contents":[{"uri":"note://picture","mimeType":"image/png","blob":"AAAA"}]}' ;;
        *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"no such note"}}\n' "$id" ;;
      esac ;;
    *'"method":"prompts/list"'*)
      answer '{"prompts":[{"name":"review","description":"Reviews a file","arguments":[{"name":"file","required":true},{"name":"tone"}]},{"name":"greet"}'"$more_prompts"']}' ;;
    *'"method":"prompts/get"'*)
      given=$(printf '%s' "$line" | sed -n 's/.*"file":"\([^"]*\)".*/\1/p')
      tone=$(printf '%s' "$line" | sed -n 's/.*"tone":"\([^"]*\)".*/\1/p')
      answer "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Review ${given:-nothing}, ${tone:-plainly}.\"}}]}" ;;
    *'"method":"notifications/cancelled"'*) printf '%s\n' "$line" >> cancelled ;;
    *'"name":"look"'*) text "key ${TEST_API_KEY:-none}, given ${GIVEN:-none}, in $(basename "$PWD")" ;;
    *'"name":"die"'*) echo 'out of memory' >&2; exit 1 ;;
    *'"name":"wait"'*) sleep 1000 ;;
    *'"name":"slow"'*)
      # it is not answered: the next line can be a cancel
      token=$(printf '%s' "$line" | sed -n 's/.*"progressToken":\("[^"]*"\|[0-9]*\).*/\1/p')
      notify progress "{\"progressToken\":$token,\"progress\":3,\"total\":10,\"message\":\"reading page 3\"}"
      echo slow >> slow ;;
    *'"name":"fail"'*) answer '{"isError":true,"content":[{"type":"text","text":"no such row"}]}' ;;
    *'"name":"data"'*) answer '{"content":[],"structuredContent":{"rows":[1,2]}}' ;;
    # of a server that has so many tools: a large text, a large error, large data
    *'"name":"t3"'*) text "$(letters 1300000)" ;;
    *'"name":"t4"'*) answer "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"$(letters 300000)\"}]}" ;;
    *'"name":"t5"'*) answer "{\"content\":[],\"structuredContent\":{\"rows\":\"$(letters 1300000)\"}}" ;;
    *'"name":"write"'*) if echo x > "$GIVEN"; then text written; else text refused; fi ;;
    *'"name":"picture"'*) answer '{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}' ;;
    *'"name":"grow"'*)
      added=',{"name":"grown","inputSchema":{"type":"object"}}'
      notify tools/list_changed '{}'
      text grown ;;
    *'"name":"grown"'*) text 'the new one' ;;
    *'"name":"note"'*)
      more_resources=',{"uri":"note://new","name":"new"}'
      notify resources/list_changed '{}'
      text noted ;;
    *'"name":"prompt"'*)
      more_prompts=',{"name":"thank"}'
      notify prompts/list_changed '{}'
      text prompted ;;
    *'"method":"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool"}}\n' "$id" ;;
  esac
done
