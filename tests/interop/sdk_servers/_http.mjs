// Serves a Node request handler on a free port of loopback and prints its URL as the first line on stdout.
import { createServer } from "node:http";

export function serve(handler, path = "/mcp") {
  const listener = createServer((request, response) => {
    Promise.resolve(handler(request, response)).catch((error) => {
      console.error(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  listener.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${listener.address().port}${path}`));
}

export async function json(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return parts.length ? JSON.parse(Buffer.concat(parts)) : undefined;
}
