// npm @modelcontextprotocol/client from nothing to the first result.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "bench", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
console.log((await client.callTool({ name: "echo", arguments: { text: "hi" } })).content[0].text);
await client.close();
