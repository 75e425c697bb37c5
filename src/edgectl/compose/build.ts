import { posix } from "node:path";
import type { Value } from "../documents/value.ts";
import type { Converter } from "./service.ts";

/** Whether a context of `build` is a repository or an archive elsewhere, as Docker tells them from directories. */
export function isRemoteContext(context: string): boolean {
  return /^(?:[a-z][a-z+]*:\/\/|git@|github\.com\/)/.test(context);
}

/** Nothing is built here: an image that has a name can be built and pushed by the operator. */
export const convertBuild: Converter = (value, service) => {
  const image = service.value.fields().get("image")?.text();
  if (image !== undefined) {
    value.note(
      `builds nothing here: a device pulls ${image}. To build and push it: ${commands(value, service.name, image)}`,
    );
    return;
  }
  const name = `REGISTRY/${service.name}:TAG`;
  value.refuse(
    "is not supported without `image`: devices pull their images.",
    `Name the image with \`image: ${name}\`, and push it: ${commands(value, service.name, name)}`,
  );
};

/** What the command `docker build` takes in the same meaning. */
const PLAIN_KEYS: ReadonlySet<string> = new Set(["context", "dockerfile", "target"]);

/** The commands that do what `build` says, in the directory of the project. */
function commands(value: Value, service: string, image: string): string {
  const fields = value.isMap ? value.fields() : new Map<string, Value>();
  // Such as `args`, which may be secrets, and `dockerfile_inline`.
  if ([...fields.keys()].some((key) => !PLAIN_KEYS.has(key))) {
    return `docker compose build ${service} && docker compose push ${service}`;
  }
  const context = (value.isMap ? fields.get("context")?.text() : value.text()) ?? ".";
  const file = fields.get("dockerfile")?.text();
  const target = fields.get("target")?.text();
  const words = [
    ...(file === undefined ? [] : ["-f", fileIn(context, file)]),
    ...(target === undefined ? [] : ["--target", target]),
    context,
  ];
  return `${["docker build -t", image, ...words.map(quoted)].join(" ")} && docker push ${image}`;
}

/** `docker build` has the path from where it runs, compose from the context. */
function fileIn(context: string, file: string): string {
  return isRemoteContext(context) || posix.isAbsolute(file) ? file : posix.join(context, file);
}

/** As a shell takes it for one word. */
function quoted(word: string): string {
  return /^[\w@%+=:,./#-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
