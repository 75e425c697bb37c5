/*
 * What is secret in the variables of an app, and where else in its specification that ends up. A variable that is declared
 * secret is one in every value it is put into: an address with the password in it, or an argument of the command.
 */

/** Stands for a value in answers. Sent back as the value of a secret, it keeps the device's value. */
export const MASKED_VALUE = "***";

/** Shorter texts ("1", "on") are not secrets; masking them would make everything else unreadable. */
export const MIN_SECRET_LENGTH = 4;

interface Variable {
  readonly value?: string | undefined;
  readonly secret?: boolean | undefined;
  readonly secret_parts?: readonly string[] | undefined;
}

/** Shorter users of addresses without a password are names, such as `postgres`. */
const MIN_TOKEN_LENGTH = 16;

/** The user and the password in an address, wherever it is in a text: `postgres://app:password@db/app`. */
const USER_IN_ADDRESS = /:\/\/([^\s/?#@]+)@/g;

/** Returns a variable's value, and what is secret in it by itself: its declared parts, and passwords in addresses. */
export function valueAndParts({ value, secret_parts: parts = [] }: Variable): string[] {
  return value === undefined ? [...parts] : [value, ...parts, ...passwordsIn(value)];
}

/** Returns the texts that are secret in variables: what is declared as such, and the passwords in it. */
export function secretTexts(variables: readonly Variable[]): string[] {
  return variables.flatMap((variable) =>
    variable.secret === true ? valueAndParts(variable) : (variable.secret_parts ?? []),
  );
}

/**
 * Returns the variables without their secret parts, which are never returned. One with the secret of another in its value
 * is declared secret too.
 */
export function withoutSecretParts<V extends Variable>(
  variables: readonly V[],
  secrets: readonly string[],
): Omit<V, "secret_parts">[] {
  return variables.map(({ secret_parts: _parts, ...variable }) =>
    containsSecret(variable.value, secrets) ? { ...variable, secret: true } : variable,
  );
}

/** Whether one of the secrets is in a text. */
export function containsSecret(text: unknown, secrets: readonly string[]): boolean {
  return typeof text === "string" && secrets.some((each) => each.length >= MIN_SECRET_LENGTH && text.includes(each));
}

/** Returns the passwords in the addresses of a text, as written and decoded. Without one, a long user is a token. */
export function passwordsIn(text: string): string[] {
  return [...text.matchAll(USER_IN_ADDRESS)].flatMap(([, user = ""]) => {
    const at = user.indexOf(":");
    const password = user.slice(at + 1);
    if (at < 0 && user.length < MIN_TOKEN_LENGTH) return [];
    try {
      return [password, decodeURIComponent(password)];
    } catch {
      return [password];
    }
  });
}

/** The fields of a specification that pass texts on to the app, besides its environment and its files. */
const TEXT_FIELDS = ["command", "entrypoint", "healthcheck", "labels"] as const;

/**
 * Returns the specification with secrets replaced in what it passes on to the app: `command`, `entrypoint`, the health
 * check and labels. Values of variables are left as they are.
 */
export function withSecretTextsMasked<T extends object>(spec: T, secrets: readonly string[]): T {
  const mask = secretReplacer(secrets);
  if (!mask) return spec;
  const fields = TEXT_FIELDS.flatMap((name) =>
    Object.hasOwn(spec, name) ? [[name, maskIn((spec as Readonly<Record<string, unknown>>)[name], mask)]] : [],
  );
  return { ...spec, ...Object.fromEntries(fields) };
}

type Replace = (text: string) => string;

/** Replaces the longest first: one may be a part of another. `undefined`: there is nothing to replace. */
function secretReplacer(secrets: readonly string[]): Replace | undefined {
  const known = [...new Set(secrets)].filter(({ length }) => length >= MIN_SECRET_LENGTH);
  if (known.length === 0) return undefined;
  const longestFirst = known.toSorted((one, other) => other.length - one.length);
  return (text) => longestFirst.reduce((masked, secret) => masked.replaceAll(secret, MASKED_VALUE), text);
}

function maskIn(value: unknown, mask: Replace): unknown {
  if (typeof value === "string") return mask(value);
  if (Array.isArray(value)) return value.map((each) => maskIn(each, mask));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, maskIn(each, mask)]));
}
