/** Returns a variable's value; `undefined` if it is not set. */
export type Lookup = (name: string) => string | undefined;

/** Returns a lookup that notes the variables that are found. */
export function recordingLookup(lookup: Lookup, found: Map<string, string>): Lookup {
  return (name) => {
    const value = lookup(name);
    if (value !== undefined) found.set(name, value);
    return value;
  };
}

/** A template that cannot be expanded. The message names variables and never a value. */
export class TemplateError extends Error {}

/** A variable that is not set, where that is no matter as long as the text is not used. */
export class UnsetVariableError extends TemplateError {}

/** Length of an expanded text, in characters. A variable may stand for much and be used often. */
const MAX_LENGTH = 256 * 1024;

/** Variables in the defaults of variables. */
const MAX_DEPTH = 20;

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const OPERATOR = /:?[-?+]/y;

/**
 * Expands the variables of a text as the Compose specification says: `$NAME`, `${NAME}`, `${NAME:-default}`,
 * `${NAME:?message}`, `${NAME:+alternative}`, each also without the colon, nested, and `$$` for a dollar sign. A `$` before
 * anything else stands for itself. Errors: `TemplateError`.
 *
 * @param onUnset called for an unset variable without a default, which is nothing then; without it, that is an error
 */
export function interpolate(template: string, lookup: Lookup, onUnset?: (name: string) => void): string {
  return template.includes("$") ? new Expansion(template, lookup, onUnset).all() : template;
}

class Expansion {
  readonly #template: string;
  readonly #lookup: Lookup;
  readonly #onUnset: ((name: string) => void) | undefined;
  #position = 0;
  #depth = 0;

  constructor(template: string, lookup: Lookup, onUnset: ((name: string) => void) | undefined) {
    this.#template = template;
    this.#lookup = lookup;
    this.#onUnset = onUnset;
  }

  all(): string {
    return this.#text(true, false);
  }

  /** Reads up to the end, or to the brace that ends a default. @param isUsed `false`: only checks the grammar */
  #text(isUsed: boolean, isInBraces: boolean): string {
    let text = "";
    let openBraces = 0;
    while (this.#position < this.#template.length) {
      const character = this.#template.charAt(this.#position);
      if (character === "$") text += this.#variable(isUsed);
      else {
        if (isInBraces && character === "}" && openBraces === 0) break;
        if (character === "{") openBraces++;
        else if (character === "}") openBraces--;
        text += character;
        this.#position++;
      }
      if (text.length > MAX_LENGTH) {
        throw new TemplateError("becomes longer than 256 KiB with the values of its variables.");
      }
    }
    return text;
  }

  #variable(isUsed: boolean): string {
    this.#position++;
    if (this.#take("$")) return "$";
    if (this.#take("{")) return this.#braced(isUsed);
    const name = this.#match(NAME);
    if (name === undefined) return "$";
    return isUsed ? this.#valueOf(name) : "";
  }

  #braced(isUsed: boolean): string {
    if (++this.#depth > MAX_DEPTH) throw new TemplateError(`has variables nested more than ${MAX_DEPTH} deep.`);
    const name = this.#match(NAME);
    if (name === undefined) throw new TemplateError("has ${ without a name of a variable; write $$ for a dollar sign.");
    const operator = this.#match(OPERATOR);
    const text = operator === undefined ? undefined : this.#operation(name, operator, isUsed);
    if (!this.#take("}")) throw new TemplateError(`has \${${name} without the } at its end.`);
    this.#depth--;
    if (text !== undefined) return text;
    return isUsed ? this.#valueOf(name) : "";
  }

  /** @param operator `-`, `?` or `+`, with a colon if an empty value counts as unset */
  #operation(name: string, operator: string, isUsed: boolean): string {
    const value = this.#lookup(name);
    const isSet = value !== undefined && (value !== "" || !operator.startsWith(":"));
    const isAlternative = operator.endsWith("+");
    const start = this.#position;
    // The message of `?` is shown as it is written: with values, it could show a secret.
    const isWordUsed = isUsed && isSet === isAlternative && !operator.endsWith("?");
    const word = this.#text(isWordUsed, true);
    if (isAlternative) return isSet ? word : "";
    if (isSet) return value;
    if (operator.endsWith("-")) return word;
    if (!isUsed) return "";
    const message = this.#template.slice(start, this.#position);
    throw new TemplateError(`needs the variable ${name}${message === "" ? "" : `: ${message}`}.`);
  }

  #valueOf(name: string): string {
    const value = this.#lookup(name);
    if (value !== undefined) return value;
    if (this.#onUnset) {
      this.#onUnset(name);
      return "";
    }
    throw new UnsetVariableError(
      `uses the variable ${name}, which is not set. Set it in this shell or in .env, or give it a default: \${${name}:-VALUE}.`,
    );
  }

  #take(character: string): boolean {
    if (this.#template.charAt(this.#position) !== character) return false;
    this.#position++;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#template)?.[0];
    this.#position += found?.length ?? 0;
    return found;
  }
}
