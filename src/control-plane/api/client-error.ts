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

/** Answers what never became a request, with the error body every other refusal has, and ends the connection. */
export function respondToClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  // Node's name for the response in progress: into one that has begun nothing may be written.
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
