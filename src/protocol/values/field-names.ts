/** Names with which objects of JavaScript have a meaning of their own. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(["__proto__", "constructor"]);

/** A field of a JSON document that a reader may not see as its sender meant it. */
export interface WrongName {
  /** Names of fields, and positions in lists. */
  readonly path: readonly (string | number)[];
  readonly reason: "repeated" | "reserved";
}

/** An object or a list that is open. */
interface Level {
  readonly isList: boolean;
  /** Of the fields before, made with the first one. */
  names: Set<string> | undefined;
  /** Of the field or the element at hand. */
  part: string | number;
}

/**
 * Finds a field whose name its object has had before, or that is reserved: parsers keep the last one of a name, and libraries leave
 * out or obey `__proto__`. Reads each character once.
 *
 * @param json valid JSON, bounded in its nesting and its values
 */
export function findWrongName(json: string): WrongName | undefined {
  const levels: Level[] = [];
  for (let at = 0; at < json.length; at++) {
    const character = json[at];
    if (character === "{" || character === "[") levels.push({ isList: character === "[", names: undefined, part: 0 });
    else if (character === "}" || character === "]") levels.pop();
    else if (character === '"') {
      const end = endOfText(json, at);
      const level = levels.at(-1);
      // A name is followed by its colon, and nothing else is.
      if (level && !level.isList && isColonNext(json, end + 1)) {
        const reason = enterName(level, json.slice(at, end + 1));
        if (reason) return { path: levels.map(({ part }) => part), reason };
      }
      at = end;
    } else if (character === ",") nextElement(levels.at(-1));
  }
  return undefined;
}

/** Returns what is wrong with the name. */
function enterName(level: Level, quoted: string): WrongName["reason"] | undefined {
  const name = quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  const names = (level.names ??= new Set());
  level.part = name;
  if (RESERVED_NAMES.has(name)) return "reserved";
  if (names.has(name)) return "repeated";
  names.add(name);
  return undefined;
}

function nextElement(level: Level | undefined): void {
  if (typeof level?.part === "number") level.part++;
}

/** Position of the quotation mark that ends the text which begins at a position. */
function endOfText(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end;
}

function isEscaped(json: string, position: number): boolean {
  let before = position;
  while (json[before - 1] === "\\") before--;
  return (position - before) % 2 === 1;
}

function isColonNext(json: string, position: number): boolean {
  let at = position;
  while (json[at] === " " || json[at] === "\n" || json[at] === "\r" || json[at] === "\t") at++;
  return json[at] === ":";
}
