import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type ErrorCode, errorEntry } from "../../protocol/errors.ts";

/** Rejects a WebSocket request with a plain HTTP response, and ends the connection. */
export function refuseUpgrade(socket: Duplex, code: ErrorCode, message: string, retryAfterS?: number): void {
  const { http } = errorEntry(code);
  const text = JSON.stringify({ code, message });
  const lines = [
    `HTTP/1.1 ${http} ${STATUS_CODES[http] ?? ""}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(text)}`,
    "Connection: close",
    ...(retryAfterS === undefined ? [] : [`Retry-After: ${retryAfterS}`]),
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${text}`, () => socket.destroy());
}
