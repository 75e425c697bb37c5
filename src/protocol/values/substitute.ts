import { VARIABLE_NAME } from "./variables.ts";

/*
 * Variables of assets in the values of environments: `${NAME}` stands for the value, `$${` for the characters `${`. A value that
 * is put in is not searched again. A `$` that no `{` follows is a plain character. One right before a variable cannot be written,
 * since `$${` is the escape: it has to be part of the variable's value.
 */

/** A piece of a value. */
type Piece = { readonly text: string } | { readonly name: string };

/** A value as it is in a revision. */
export type ParsedTemplate =
  | { readonly ok: true; readonly pieces: readonly Piece[] }
  | {
      readonly ok: false;
      /** Offset of the `${` that is wrong, from 0. */
      readonly position: number;
      readonly reason: string;
    };

/** A variable as it is put into a value. */
export interface VariableValue {
  readonly value: string;
  readonly isSecret: boolean;
}

export type Substitution =
  | {
      readonly ok: true;
      readonly value: string;
      /** The secrets that were put into it, each once. */
      readonly secrets: readonly string[];
    }
  | { readonly ok: false; readonly missing: readonly string[] };

/** Splits a value into texts and variables. */
export function parseTemplate(value: string): ParsedTemplate {
  const pieces: Piece[] = [];
  let text = "";
  for (let at = 0; at < value.length;) {
    if (value.startsWith("$${", at)) {
      text += "${";
      at += 3;
    } else if (value.startsWith("${", at)) {
      const end = value.indexOf("}", at);
      if (end === -1) return { ok: false, position: at, reason: "'${' has no '}'; write '$${' for the characters" };
      const name = value.slice(at + 2, end);
      if (!VARIABLE_NAME.test(name)) {
        return {
          ok: false,
          position: at,
          reason: "'${…}' does not have the name of a variable in it; write '$${' for the characters",
        };
      }
      if (text !== "") pieces.push({ text });
      pieces.push({ name });
      text = "";
      at = end + 1;
    } else {
      text += value[at];
      at++;
    }
  }
  if (text !== "") pieces.push({ text });
  return { ok: true, pieces };
}

/** Returns the names of the variables in a value, each once; none if the value is not valid. */
export function variablesIn(value: string): readonly string[] {
  const parsed = parseTemplate(value);
  if (!parsed.ok) return [];
  return [...new Set(parsed.pieces.flatMap((piece) => ("name" in piece ? [piece.name] : [])))];
}

/** Puts variables into a value. Throws if the value is not valid: revisions have valid ones only. */
export function substitute(value: string, variables: ReadonlyMap<string, VariableValue>): Substitution {
  const parsed = parseTemplate(value);
  if (!parsed.ok) throw new Error(`a value of a revision is not valid: ${parsed.reason}`);
  const missing = variablesIn(value).filter((name) => !variables.has(name));
  if (missing.length > 0) return { ok: false, missing };
  let result = "";
  const secrets = new Set<string>();
  for (const piece of parsed.pieces) {
    if ("text" in piece) {
      result += piece.text;
      continue;
    }
    const variable = variables.get(piece.name);
    result += variable?.value ?? "";
    if (variable?.isSecret) secrets.add(variable.value);
  }
  return { ok: true, value: result, secrets: [...secrets] };
}
