import { EngineError } from "../engine-error.ts";

/**
 * Returns the engine's response after checking that it is an object with these fields, each of the type of the given
 * example. The client library passes on any response, and any program may listen at the socket.
 */
export function requireFields<T extends object>(response: T, fields: { readonly [Key in keyof T]?: unknown }): T {
  if (typeof response !== "object" || response === null) throw unexpected("no object");
  for (const [name, example] of Object.entries(fields)) {
    const value: unknown = (response as Record<string, unknown>)[name];
    if (typeof value !== typeof example || value === null) throw unexpected(`no field ${name} as expected`);
  }
  return response;
}

/** Returns the engine's response after checking that it is an array. */
export function requireList<T>(response: readonly T[]): readonly T[] {
  if (!Array.isArray(response)) throw unexpected("no list");
  return response as readonly T[];
}

function unexpected(what: string): EngineError {
  return new EngineError("unknown", `the container engine gave an answer that has ${what}`);
}
