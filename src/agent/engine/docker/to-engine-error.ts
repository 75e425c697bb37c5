import { errorText } from "../../../lib/error-text.ts";
import { maskSecrets } from "../../../lib/redact.ts";
import type { EngineErrorKind } from "../../core/error-kind.ts";
import { EngineError } from "../engine-error.ts";
import {
  classifyContainerText,
  classifyPullText,
  cleanMessage,
  parseHostPort,
  parseMountSource,
} from "./error-text.ts";

// Errors of the socket if the engine does not run, or stops during a call.
const BROKEN_SOCKET: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens on its socket",
  ENOENT: "its socket does not exist",
  ENOTSOCK: "its path is not a socket",
  EACCES: "no permission to open its socket",
  EPERM: "no permission to open its socket",
  EAGAIN: "its socket accepts no more connections",
  ECONNRESET: "it closed the connection",
  EPIPE: "it closed the connection",
};

const KIND_BY_STATUS: Readonly<Record<number, EngineErrorKind>> = {
  400: "invalid",
  404: "not_found",
  406: "invalid",
  409: "conflict",
  422: "invalid",
};

/**
 * Converts the error of a call on containers or on the engine itself. Returns an `EngineError` unchanged.
 *
 * @param secrets values sent to the engine, which its message may repeat
 */
export function toEngineError(error: unknown, secrets: readonly string[] = []): EngineError {
  return convert(error, secrets, (text) => classifyContainerText(text));
}

/** Converts the error of a pull, before or within its stream. */
export function toPullError(error: unknown, reference: string, secrets: readonly string[]): EngineError {
  return convert(error, secrets, (text, status) => {
    return classifyPullText(text, reference) ?? (status === 404 ? "image_not_found" : undefined);
  });
}

type Classify = (text: string, status: number | undefined) => EngineErrorKind | undefined;

function convert(error: unknown, secrets: readonly string[], classify: Classify): EngineError {
  if (error instanceof EngineError) return error;
  const code = property(error, "code");
  const broken = typeof code === "string" ? BROKEN_SOCKET[code] : undefined;
  if (broken !== undefined) {
    return new EngineError("unavailable", `no connection to the container engine: ${broken}`, { cause: error });
  }
  const status = property(error, "statusCode");
  const statusCode = typeof status === "number" ? status : undefined;
  const text = messageOf(error);
  const kind = classify(text, statusCode) ?? (statusCode === undefined ? undefined : KIND_BY_STATUS[statusCode]);
  // Mask before the message is shortened, which could cut a secret.
  const shown = secrets.length > 0 ? maskSecrets(text, secrets) : text;
  const port = kind === "port_in_use" ? parseHostPort(text) : undefined;
  const path = kind === "mount_missing" ? parseMountSource(text) : undefined;
  const options = {
    ...(shown === text && { cause: error }),
    ...(port !== undefined && { port }),
    ...(path !== undefined && { path }),
  };
  return new EngineError(kind ?? "unknown", cleanMessage(shown), options);
}

function messageOf(error: unknown): string {
  const message = property(property(error, "json"), "message");
  if (typeof message === "string" && message !== "") return message;
  return errorText(error);
}

function property(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
