import { EngineError } from "../engine-error.ts";

/**
 * The answer of the engine, once it is known to be an object that has these fields, each of the type of the example
 * beside it. The client library hands on whatever came, and what is at the socket may be anything.
 */
export function withFields<T extends object>(answer: T, fields: { readonly [Key in keyof T]?: unknown }): T {
  if (typeof answer !== "object" || answer === null) throw unexpected("no object");
  for (const [name, example] of Object.entries(fields)) {
    const value: unknown = (answer as Record<string, unknown>)[name];
    if (typeof value !== typeof example || value === null) throw unexpected(`no field ${name} as expected`);
  }
  return answer;
}

/** The answer of the engine, once it is known to be a list. */
export function asList<T>(answer: readonly T[]): readonly T[] {
  if (!Array.isArray(answer)) throw unexpected("no list");
  return answer as readonly T[];
}

function unexpected(what: string): EngineError {
  return new EngineError("unknown", `the container engine gave an answer that has ${what}`);
}
