// node proxy.mjs TARGET TOKEN: prints its port; adds the token to every request
import http from 'node:http';
const [target, token] = process.argv.slice(2);
const { hostname, port } = new URL(target);
http.createServer((from, to) => {
  const headers = { ...from.headers, authorization: `Bearer ${token}` };
  const on = http.request({ hostname, port, path: from.url, method: from.method, headers }, (answer) => {
    to.writeHead(answer.statusCode, answer.headers); to.flushHeaders(); answer.pipe(to);
  });
  on.on('error', () => to.destroy());
  to.on('close', () => on.destroy());
  from.pipe(on);
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
