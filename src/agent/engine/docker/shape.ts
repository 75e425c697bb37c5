import { EngineError } from "../engine-error.ts";

/**
 * Returns the engine's response after checking that it is an object with these fields, each of the type of the given
 * example. The client library passes on any response, and any program may listen at the socket.
 */
export function requireFields<T extends object>(response: T, fields: { readonly [Key in keyof T]?: unknown }): T {
  if (typeof response !== "object" || response === null) throw unexpected("not an object");
  for (const [name, example] of Object.entries(fields)) {
    const value: unknown = (response as Record<string, unknown>)[name];
    if (typeof value !== typeof example || value === null)
      throw unexpected(`field ${name} is missing or of the wrong type`);
  }
  return response;
}

/** Returns the engine's response after checking that it is an array. */
export function requireList<T>(response: readonly T[]): readonly T[] {
  if (!Array.isArray(response)) throw unexpected("not an array");
  return response as readonly T[];
}

function unexpected(what: string): EngineError {
  return new EngineError("unknown", `unexpected response from the container engine: ${what}`);
}
