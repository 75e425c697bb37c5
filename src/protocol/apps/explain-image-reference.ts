import { MAX_NAME_LENGTH, parseImageReference } from "./image-reference.ts";

const DIGEST_FORM = "sha256: and 64 hexadecimal digits in lower case";
const TAG_FORM = "a tag is 1 to 128 letters, digits, '_', '.' or '-', beginning with a letter, a digit or '_'";

/**
 * Says why a reference does not follow the grammar, and what to write instead; `undefined` if it does. Repeats only a name
 * that has nothing but upper case wrong: anything else may contain credentials.
 */
export function explainImageReference(reference: string): string | undefined {
  if (parseImageReference(reference)) return undefined;
  const [nameAndTag = "", ...digests] = reference.split("@");
  return explainWhole(reference) ?? explainDigest(digests) ?? explainName(nameAndTag, digests);
}

function explainWhole(reference: string): string | undefined {
  if (reference.trim() === "") return "it is empty";
  if (/^\s|\s$/.test(reference)) return "it begins or ends with white space";
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(reference)?.[0].toLowerCase();
  if (scheme !== undefined) return "write it without the scheme, such as registry.example.com/team/app:1.2";
  if (/\s/.test(reference)) return "it contains white space";
  return undefined;
}

function explainDigest(digests: readonly string[]): string | undefined {
  const [digest] = digests;
  if (digest === undefined) return undefined;
  if (/^[a-z0-9+._-]+:[0-9a-f]{32,}$/i.test(digest)) {
    if (digests.length > 1) return "it has two digests";
    const [algorithm, digits = ""] = digest.split(":");
    if (algorithm !== "sha256") return `its digest must be ${DIGEST_FORM}`;
    if (digits.length !== 64) return `its digest has ${digits.length} digits; a digest is ${DIGEST_FORM}`;
    return digits === digits.toLowerCase() ? undefined : `its digest must be ${DIGEST_FORM}`;
  }
  const looksLikeDigest = /^(?:sha\d+:?)?[0-9a-f]*$/i.test(digest);
  if (!looksLikeDigest) return "'@' begins a digest; credentials do not belong here, they go into `registry_auth`";
  return `after '@' a digest is expected: ${DIGEST_FORM}`;
}

function explainName(nameAndTag: string, digests: readonly string[]): string {
  const { name, tag } = split(nameAndTag);
  if (tag === "") return "the tag after ':' is missing";
  if (name === "" || name.endsWith("/")) return "the name of the image is missing";
  if (name.startsWith("/")) return "it must not begin with '/'";
  if (name.includes("//")) return "it has an empty part between two '/'";
  if (name.length > MAX_NAME_LENGTH) return `its name is longer than ${MAX_NAME_LENGTH} characters`;
  const lower = [[name.toLowerCase(), ...(tag === undefined ? [] : [tag])].join(":"), ...digests].join("@");
  if (parseImageReference(lower)) return `names are lower case; write ${lower}`;
  if (tag !== undefined && parseImageReference(name.toLowerCase())) return TAG_FORM;
  if (/:/.test(name))
    return "before the first '/' a registry is expected: a host, with a port in digits if it needs one";
  return "parts of a name are lower-case letters and digits, with '.', '_', '__' or '-' between them only";
}

/** Separates the tag: what follows the last `:` that has no `/` behind it. */
function split(nameAndTag: string): { readonly name: string; readonly tag: string | undefined } {
  const [, name, tag] = /^(.*):([^/]*)$/s.exec(nameAndTag) ?? [];
  return { name: name ?? nameAndTag, tag };
}
