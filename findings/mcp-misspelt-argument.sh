#!/bin/sh
# One would guess: a server made with the TypeScript SDK of MCP refuses a call of a tool with an argument that its schema does not know,
# as it refuses a number that is given as text.
# In fact such an argument is taken out before the tool sees it: an agent that asks for learning_rat 0.1 trains with the default of
# learning_rate, 0.001, and gets a normal result, without a word in it. Nor does the schema in tools/list say additionalProperties: false, so a
# client does not notice either. What was tried and what is believed to have been tried differ. inputSchema: z.strictObject({..}) refuses it.
# Version: @modelcontextprotocol/sdk 1.29.0, zod 4.6.7. Source: server/mcp.js, validateToolInput, and server/zod-compat.js, objectFromShape.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/sdk@1.29.0 zod@4.6.7
cat >probe.mjs <<'END'
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { readFileSync } from "node:fs";
import { z } from "zod";

for (const name of ["@modelcontextprotocol/sdk", "zod"])
    console.log(name, JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version);
const server = new McpServer({ name: "trainer", version: "1" });
const client = new Client({ name: "agent", version: "1" });
const shape = { steps: z.number(), learning_rate: z.number().default(0.001) };
const train = async (settings) => ({ content: [{ type: "text", text: `trained with ${JSON.stringify(settings)}` }] });
server.registerTool("train", { inputSchema: shape }, train);
server.registerTool("train_strictly", { inputSchema: z.strictObject(shape) }, train);
const [one, other] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(one), client.connect(other)]);
const seen = [];
for (const tool of (await client.listTools()).tools)
    seen.push("additionalProperties" in tool.inputSchema);
for (const [name, settings] of [["train", { steps: 5, learning_rat: 0.1 }], ["train", { steps: "5" }],
                                ["train_strictly", { steps: 5, learning_rat: 0.1 }]]) {
    const result = await client.callTool({ name, arguments: settings });
    seen.push(result.isError === true);
    console.log(name, JSON.stringify(settings), result.isError ? "is refused" : result.content[0].text);
}
console.log("additionalProperties in the schema of train:", seen[0], "of train_strictly:", seen[1]);
process.exit(JSON.stringify(seen) === "[false,true,false,true,true]" ? 0 : 1);
END
node probe.mjs
