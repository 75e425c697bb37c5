import type { FastifyRequest } from "fastify";
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { REQUEST_ID_HEADER } from "./request-id.ts";

interface Answer {
  readonly status: number;
  readonly message: string;
}

const ERROR_RESPONSES: Readonly<Record<string, Answer>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: "The request did not arrive in time." },
  HPE_HEADER_OVERFLOW: { status: 431, message: "The request's headers are too large." },
};
const NOT_HTTP: Answer = { status: 400, message: "The request is not valid HTTP." };

const UNMET_EXPECTATION: Answer = { status: 417, message: "The only Expect that is supported is 100-continue." };

/** Returns a handler that responds with an error body to data that is not a valid HTTP request, and closes the connection. */
export function respondToClientErrors(logger: Logger, newId: () => string) {
  return (error: Error & { readonly code?: string }, socket: Socket): void => {
    // Node's internal field for the response in progress. Once its headers are sent, no other response can be written.
    const { _httpMessage: response } = socket as Socket & { _httpMessage?: ServerResponse | null };
    if (!socket.writable || response?.headersSent) {
      socket.destroy();
      return;
    }
    const answer = ERROR_RESPONSES[error.code ?? ""] ?? NOT_HTTP;
    const { status } = answer;
    const id = newId();
    logger.info({ request_id: id, status, reason: error.code }, "request not read");
    const body = bodyOf(answer);
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\n${REQUEST_ID_HEADER}: ${id}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
      () => socket.destroy(),
    );
  };
}

/** Responds to requests with an `Expect` other than `100-continue`, to which Node.js responds without a body otherwise. */
export function respondToExpectations(
  server: Server,
  logger: Logger,
  newId: (request: IncomingMessage) => string,
): void {
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    const { status } = UNMET_EXPECTATION;
    const id = newId(request);
    logger.info({ request_id: id, status }, "request not read");
    response.writeHead(status, { "Content-Type": "application/json", [REQUEST_ID_HEADER]: id, Connection: "close" });
    response.end(bodyOf(UNMET_EXPECTATION));
  });
}

function bodyOf({ message }: Answer): string {
  return JSON.stringify({ code: "BadRequest", message });
}

/**
 * Hook: refuses what a proxy in front of the service and the service might read differently: no `Host`, or several; another version
 * of HTTP; a transfer coding besides chunks. Node.js would respond without a body, or take it. Error: `BadRequest`.
 */
export async function requirePlainHttp({ raw }: FastifyRequest): Promise<void> {
  const { httpVersion, rawHeaders, headers } = raw;
  if (httpVersion !== "1.0" && httpVersion !== "1.1")
    throw new EdgeError("BadRequest", "The service speaks HTTP/1.1 and HTTP/1.0.");
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;
  if (hosts === 0 && httpVersion === "1.1")
    throw new EdgeError("BadRequest", "A request of HTTP/1.1 needs the header Host.");
  if (hosts > 1) throw new EdgeError("BadRequest", "A request has one header Host.");
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.trim().toLowerCase() !== "chunked")
    throw new EdgeError("BadRequest", "The only Transfer-Encoding that is supported is chunked.");
}
