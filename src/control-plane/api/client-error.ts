import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

interface Answer {
  readonly status: number;
  readonly message: string;
}

const ERROR_RESPONSES: Readonly<Record<string, Answer>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: "The request did not arrive in time." },
  HPE_HEADER_OVERFLOW: { status: 431, message: "The request's headers are too large." },
};
const NOT_HTTP: Answer = { status: 400, message: "The request is not valid HTTP." };

/** Responds with an error body to data that is not a valid HTTP request, and closes the connection. */
export function respondToClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  // Node's internal field for the response in progress. Once its headers are sent, no other response can be written.
  const { _httpMessage: response } = socket as Socket & { _httpMessage?: ServerResponse | null };
  if (!socket.writable || response?.headersSent) {
    socket.destroy();
    return;
  }
  const { status, message } = ERROR_RESPONSES[error.code ?? ""] ?? NOT_HTTP;
  const body = JSON.stringify({ code: "BadRequest", message });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}
