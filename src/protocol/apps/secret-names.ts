/** A variable of an app's environment. */
interface Variable {
  readonly key: string;
  readonly value: string;
}

/** Parts of a name that stand for a secret wherever they occur, such as in `DB_PASSWORD`, `PGPASSWORD` or `dbPassword`. */
const SECRET_PART = /(?:password|passwd|passphrase|secret|token|credentials?|apikey|privatekey)$/;

/** Parts that stand for a secret at the end of a name only: `SMTP_PASS`, `API_KEY`. */
const SECRET_ENDINGS: ReadonlySet<string> = new Set(["pass", "pwd", "key"]);

/** Last parts of names that say something about a secret, such as `DB_PASSWORD_FILE`. */
const HARMLESS_ENDINGS: ReadonlySet<string> = new Set(
  "file path dir url uri host port ttl timeout expiry expires length policy type".split(" "),
);

/** Values that are settings: `AUTH_TOKEN=true`. */
const SETTING = /^(?:|true|false|yes|no|on|off|none|null|\*+)$/i;

/** The user and the password in an address: `postgres://app:password@db/app`. */
const USER_IN_URL = /^[a-z][a-z0-9+.-]*:\/\/([^\s/?#@]*)@/i;

/** Whether a variable looks like a secret, by its name or because its value is an address with a password. */
export function looksSecret({ key, value }: Variable): boolean {
  if (SETTING.test(value)) return false;
  return hasPassword(value) || hasSecretName(key);
}

function hasPassword(value: string): boolean {
  return /:./.test(USER_IN_URL.exec(value)?.[1] ?? "");
}

function hasSecretName(key: string): boolean {
  const parts = partsOf(key);
  const last = parts.at(-1) ?? "";
  if (HARMLESS_ENDINGS.has(last) || parts.includes("public")) return false;
  // `PWD` alone is the shell's working directory.
  const isEnding = SECRET_ENDINGS.has(last) && (last !== "pwd" || parts.length > 1);
  return isEnding || parts.some((part) => SECRET_PART.test(part));
}

/** Splits a name at separators and between the words of camel case, in lower case. */
function partsOf(key: string): string[] {
  return key
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((part) => part !== "");
}
