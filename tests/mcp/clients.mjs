// clients.mjs LINEAGE STORE: tests the server with MCP clients from npm; see clients.sh.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync, existsSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { Client as Newer } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewerStdio } from '@modelcontextprotocol/client/stdio';
import { Client as Older } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OlderStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { encode } from 'gpt-tokenizer';

const require = createRequire(import.meta.url);
const Ajv2020 = require('ajv/dist/2020').default, Ajv7 = require('ajv').default, addFormats = require('ajv-formats').default;
const [lineage, store] = process.argv.slice(2);
const schemas = process.env.MCP_SCHEMAS;
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
let done = 0;

// ---- every line against the schema of its revision ----

const results = {
    'initialize': 'InitializeResult', 'ping': 'EmptyResult', 'server/discover': 'DiscoverResult',
    'tools/list': 'ListToolsResult', 'tools/call': 'CallToolResult', 'resources/list': 'ListResourcesResult',
    'resources/templates/list': 'ListResourceTemplatesResult', 'resources/read': 'ReadResourceResult',
    'prompts/list': 'ListPromptsResult', 'prompts/get': 'GetPromptResult', 'completion/complete': 'CompleteResult',
    'subscriptions/listen': 'SubscriptionsListenResult',
};

const checkers = {};
function checker(revision) {
    if (checkers[revision]) return checkers[revision];
    const path = `${schemas}/${revision}/schema.json`;
    if (!existsSync(path)) return null;
    const schema = JSON.parse(readFileSync(path));
    const part = schema.$defs ? '$defs' : 'definitions';
    const ajv = addFormats(new (schema.$defs ? Ajv2020 : Ajv7)({ strict: false, allErrors: true, validateFormats: true }));
    ajv.addFormat?.('byte', true);
    ajv.addSchema(schema, revision);
    const has = (name) => name in schema[part];
    const check = (name, value) => {
        const valid = ajv.getSchema(`${revision}#/${part}/${name}`);
        assert(valid, `${revision} has no ${name}`);
        assert(valid(value), `${revision} ${name}: ${ajv.errorsText(valid.errors)}\n${JSON.stringify(value).slice(0, 400)}`);
    };
    return (checkers[revision] = { check, has });
}

let unchecked = 0;
function checkLines(revision, requests, answers) {
    const schema = checker(revision), methods = new Map();
    for (const line of requests.split('\n').filter(Boolean)) {
        try {
            const request = JSON.parse(line);
            if (request.id !== undefined) methods.set(request.id, request.method);
        } catch { /* sent to be refused */ }
    }
    let n = 0;
    for (const line of answers.split('\n').filter(Boolean)) {
        const message = JSON.parse(line);
        assert(message.method === undefined || message.id === undefined, `a request to the client: ${line}`);
        n++;
        if (!schema) { unchecked++; continue; }
        schema.check('JSONRPCMessage', message);
        if (message.method) schema.check('ServerNotification', message);
        else if (message.error) {
            schema.check(schema.has('JSONRPCErrorResponse') ? 'JSONRPCErrorResponse' : 'JSONRPCError', message);
            if (message.error.code === -32022) schema.check('UnsupportedProtocolVersionError', message);
        } else {
            assert(methods.has(message.id), `an answer to nothing: ${line}`);
            if (results[methods.get(message.id)]) schema.check(results[methods.get(message.id)], message.result);
        }
        done++;
    }
    return n;
}

// ---- messages by hand: all methods and tools, right and wrong, in each revision ----

const tools = [
    ['knowledge', {}], ['knowledge', { max_bytes: 2000 }], ['best', {}], ['trial', { id: '001' }], ['trial', { id: 'exp_077' }],
    ['trial', { id: '999' }], ['chain', {}], ['chain', { id: '200', limit: 1 }], ['query', {}], ['query', { limit: 3, cursor: '400' }],
    ['query', { where: { alpha: '0.5:0.6', score: ':1.2' }, sort: 'score', fields: ['exp_id', 'alpha', 'notes', 'turns'] }],
    ['query', { where: { alfa: 1 } }], ['sweep', { x: 'alpha', y: 'seed' }], ['sweep', { x: 'alpha', y: 'nothing' }],
    ['tried', { params: { alpha: 0.9 } }], ['tried', { params: { alpha: 7 } }], ['diff', { id: '001' }], ['diff', { id: '077' }],
    ['search', { words: 'the OR a*', limit: 3 }], ['search', { words: '(' }], ['similar', { idea: '001', limit: 2 }],
    ['similar', { idea: 'lower alpha 0.9 to 0.5' }], ['knobs', {}], ['knobs', { name: 'alpha', limit: 2 }],
    ['sql', { statement: 'SELECT status, count(*) FROM trials GROUP BY status' }], ['sql', { statement: 'DROP TABLE trials' }],
    ['append', { status: 'keep', hypothesis: 'x' }], ['nothing', {}],
];

function conversation(revision) {
    const modern = revision === '2026-07-28';
    const meta = { 'io.modelcontextprotocol/protocolVersion': revision, 'io.modelcontextprotocol/clientCapabilities': {} };
    const list = [];
    const ask = (method, params = {}, withMeta = modern) =>
        list.push(JSON.stringify({ jsonrpc: '2.0', id: list.length + 1, method, params: withMeta ? { ...params, _meta: meta } : params }));
    if (modern) {
        ask('server/discover');
        ask('subscriptions/listen', { notifications: { toolsListChanged: true } });
        ask('tools/list', {}, false);
        ask('tools/list', { _meta: { ...meta, 'io.modelcontextprotocol/protocolVersion': '2031-01-01' } }, false);
    } else {
        ask('initialize', { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'by hand', version: '1' } });
        ask('ping');
    }
    for (const method of ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list', 'nothing/known']) ask(method);
    for (const [name, given] of tools) ask('tools/call', { name, arguments: given });
    for (const uri of ['knowledge', 'trial/001', 'trial/430/steps', 'trial/001/diff', 'trial/%FF', 'elsewhere'])
        ask('resources/read', { uri: `lineage://${uri}` });
    ask('prompts/get', { name: 'plan_night', arguments: { trials: '4', specialist: 'opt' } });
    ask('prompts/get', { name: 'nothing' });
    ask('completion/complete', { ref: { type: 'ref/resource', uri: 'lineage://trial/{id}' }, argument: { name: 'id', value: '4' } });
    ask('completion/complete', { ref: { type: 'ref/prompt', name: 'plan_night' }, argument: { name: 'parameter', value: '' } });
    ask('tools/list', { cursor: 'x' });
    return list.join('\n') + '\n';
}

for (const revision of ['2026-07-28', '2025-11-25', '2025-06-18']) {
    const input = conversation(revision);
    const run = spawnSync(lineage, ['mcp', '-C', store], { input, encoding: 'utf8' });
    assert.equal(run.status, 0, run.stderr);
    const n = checkLines(revision, input, run.stdout);
    assert(n >= input.split('\n').filter(Boolean).length, `${revision}: ${n} answers`);
    const lists = run.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line).result?.tools).filter(Boolean);
    const ajv = new Ajv2020({ strict: false });
    for (const tool of lists[0]) { // what the schemas promise holds for what was answered
        const valid = tool.outputSchema && ajv.compile(tool.outputSchema);
        ajv.compile(tool.inputSchema);
        tools.forEach(([name], i) => {
            const id = JSON.parse(input.split('\n').find((line) => line.includes(`"name":"${name}","arguments":${JSON.stringify(tools[i][1])}`))).id;
            const result = run.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line)).find((m) => m.id === id)?.result;
            if (name !== tool.name || !result || result.isError) return;
            assert.equal(valid ? valid(result.structuredContent) : result.structuredContent === undefined, true,
                `${name}: ${valid && ajv.errorsText(valid.errors)}`);
        });
    }
}

// ---- clients ----

function logged(Stdio) {
    const log = { in: `${store}/../in.log`, out: `${store}/../out.log` };
    writeFileSync(log.in, '');
    writeFileSync(log.out, '');
    const command = `tee ${quote(log.in)} | ${quote(lineage)} mcp -C ${quote(store)} | tee ${quote(log.out)}`;
    return { log, transport: new Stdio({ command: 'sh', args: ['-c', command] }) };
}

async function useClient(name, client, Stdio, revision) {
    const { log, transport } = logged(Stdio);
    await client.connect(transport);
    assert.equal(client.getServerVersion()?.name, 'lineage');
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), ['knowledge', 'best', 'trial', 'chain', 'query', 'sweep', 'tried', 'search',
        'similar', 'knobs', 'diff', 'sql', 'suggest', 'compare', 'running']);
    const call = (tool, given) => client.callTool({ name: tool, arguments: given });
    const tried = await call('tried', { params: { alpha: 0.9 }, tolerance: 0.05 });
    assert.equal(tried.structuredContent.tried, true);
    assert.equal(tried.structuredContent.shown, '20 of 41'); // 0.86 to 0.94, and 0.9 as 0.9
    assert.deepEqual(JSON.parse(tried.content[0].text), tried.structuredContent);
    const next = await call('tried', { params: { alpha: 0.9 }, tolerance: 0.05, cursor: tried.structuredContent.next });
    assert.equal(new Set([...tried.structuredContent.rows, ...next.structuredContent.rows].map((row) => row[0])).size, 40);
    assert.equal((await call('query', {})).structuredContent.shown, '20 of 431');
    assert.equal((await call('query', { where: { alhpa: 1 } })).isError, true);
    assert.match((await call('knowledge', {})).content[0].text, /Session start/);
    await assert.rejects(call('nothing', {}), (error) => error.code === -32602);
    assert.equal((await client.listResources()).resources[0].uri, 'lineage://knowledge');
    assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 3);
    assert.match((await client.readResource({ uri: 'lineage://trial/430/steps' })).contents[0].text, /^step\tloss\n0\t2.5\n/);
    assert.equal((await client.listPrompts()).prompts[0].name, 'plan_night');
    assert.match((await client.getPrompt({ name: 'plan_night', arguments: { trials: '4' } })).messages[0].content.text, /4 trials/);
    const ids = await client.complete({ ref: { type: 'ref/resource', uri: 'lineage://trial/{id}' }, argument: { name: 'id', value: '43' } });
    assert.deepEqual(ids.completion.values, ['430']);

    const endless = 'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
    const stop = new AbortController();
    let progress = 0;
    const options = { signal: stop.signal, onprogress: () => { if (++progress === 1) stop.abort('enough'); } };
    const asked = { name: 'sql', arguments: { statement: endless } };
    await assert.rejects(Stdio === OlderStdio ? client.callTool(asked, undefined, options) : client.callTool(asked, options));
    assert(progress >= 1, 'no progress was told');
    assert.equal((await call('best', {})).structuredContent.trial.exp_id, '001');
    await client.close();
    const n = checkLines(revision, readFileSync(log.in, 'utf8'), readFileSync(log.out, 'utf8'));
    console.log(`${name}: ${n} lines, revision ${revision}`);
    return { tools, tried };
}

const info = { name: 'lineage-test', version: '1' };
const auto = await useClient('client 2.4, auto', new Newer(info, { versionNegotiation: { mode: 'auto' } }), NewerStdio, '2026-07-28');
await useClient('client 2.4, pinned', new Newer(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } }), NewerStdio, '2026-07-28');
await useClient('client 2.4, legacy', new Newer(info, { versionNegotiation: { mode: 'legacy' } }), NewerStdio, '2025-11-25');
await useClient('sdk 1.32', new Older(info), OlderStdio, '2025-11-25');

// ---- tokens ----

const tokens = (value) => encode(typeof value === 'string' ? value : JSON.stringify(value)).length;
const one = tokens(auto.tried.structuredContent);
console.log(`"what was tried with alpha near 0.9": ${one} tokens; tools/list: ${tokens(auto.tools)} tokens`);
const page = readFileSync(`${process.env.SOURCE}/cli/man/agents.md`, 'utf8').replaceAll('\n', ' ');
const [, spent, found, shown, list] = page.match(/costs ([\d,]+) tokens \(o200k; (\d+) trials found, (\d+) shown\), and the list of tools ([\d,]+)\./);
for (const [said, n] of [[spent, one], [list, tokens(auto.tools)]])
    assert(Math.abs(n / Number(said.replace(',', '')) - 1) <= 0.05, `agents.md says ${said} tokens: ${n}`);
assert.equal(auto.tried.structuredContent.shown, `${shown} of ${found}`);
for (const [name, given] of tools.slice(0, 17)) {
    const input = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info } })}\n` +
        `${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name, arguments: given } })}\n`;
    const answer = spawnSync(lineage, ['mcp', '-C', store], { input, encoding: 'utf8' }).stdout.split('\n')[1];
    const n = tokens(JSON.parse(answer).result?.content[0].text ?? '');
    console.log(`${name} ${JSON.stringify(given)}: ${n} tokens`);
    assert(n <= 4000, `${name}: ${n} tokens`);
}
console.log(`${done} lines checked against the schemas${unchecked ? `; SKIP ${unchecked} without: no ${schemas}` : ''}`);
