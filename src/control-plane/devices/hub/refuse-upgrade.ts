import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { ERRORS, type ErrorDetails, type ResponseErrorCode } from "../../../protocol/errors/errors.ts";
import { CHALLENGE } from "../../core/people/credentials.ts";

/** Answers a request for a WebSocket with a plain HTTP response and ends the connection. */
export function refuseUpgrade(
  socket: Duplex,
  code: ResponseErrorCode,
  message: string,
  retryAfterS?: number,
  details?: ErrorDetails,
): void {
  const { http } = ERRORS[code];
  const text = JSON.stringify({ code, message, ...(details && { details }) });
  const lines = [
    `HTTP/1.1 ${http} ${STATUS_CODES[http] ?? ""}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(text)}`,
    "Connection: close",
    ...(http === 401 ? [`WWW-Authenticate: ${CHALLENGE}`] : []),
    ...(retryAfterS === undefined ? [] : [`Retry-After: ${retryAfterS}`]),
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${text}`, () => socket.destroy());
}
