// A client that none of us wrote: the package @modelcontextprotocol/sdk. Prints one JSON object of what it saw.

import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [program, directory, url, token] = process.argv.slice(2);
const env = JSON.parse(readFileSync(0, 'utf8'));
const ours = ['--provider', 'agentllm', '--smart-provider', 'agentllm', '--fast-provider', 'agentllm'];

function transport() {
  if (!url) return new StdioClientTransport({ command: program, args: ['-C', directory, 'mcp', ...ours], env });
  const headers = { Authorization: `Bearer ${token}` };
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
}

const client = new Client({ name: 'test', version: '1' }, { capabilities: { sampling: { tools: {} } } });
let samples = 0;
client.setRequestHandler(CreateMessageRequestSchema, async () => {
  samples += 1;
  return { model: 'theirs', role: 'assistant', content: { type: 'text', text: 'Bonjour' } };
});
await client.connect(transport());

const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const runs = async (workflow) => (await call('list_runs', { workflow })).structuredContent.runs;
async function until(workflow, status) {
  for (;;) {
    const all = await runs(workflow);
    if (all[0]?.status === status) return status;
    await new Promise((done) => setTimeout(done, 50));
  }
}

const tools = (await client.listTools()).tools.map((tool) => tool.name);
const progress = [];
const asked = await call('ticket', { summary: 'Dark mode' }, {
  onprogress: (step) => progress.push([step.progress, step.message]),
});
const resumeToken = asked.structuredContent.resumeToken;
const lacking = await call('resume_workflow', { resumeToken, results: {} });
const results = { ticketKey: 'PROJ-1', ticketUrl: 'u' };
const done = await call('resume_workflow', { resumeToken, results });
const refused = await call('nope', {}).then(() => null, (error) => [error.code, error.message]);
const stop = new AbortController();
const slow = call('slow', {}, { signal: stop.signal }).then(() => 'answered', () => 'given up');
await until('slow', 'running');
stop.abort();
const cancelled = [await slow, await until('slow', 'cancelled')];
const sampled = await call('talk', { task: 'Say hello in French' });
const resources = (await client.listResources()).resources.length;
const uri = `synthdev://runs/${done.structuredContent.workflowId}`;
const run = JSON.parse((await client.readResource({ uri })).contents[0].text).status;
await client.close();
console.log(JSON.stringify({
  server: client.getServerVersion().name, tools, progress, asked: asked.structuredContent,
  lacking: [lacking.isError, lacking.structuredContent], done: done.structuredContent, refused, cancelled,
  sampled: sampled.structuredContent, samples, resources, run,
}));
