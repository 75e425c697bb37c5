import { posix } from "node:path";
import type { Value } from "../documents/value.ts";
import type { Converter } from "./service.ts";

/** Whether a context of `build` is a repository or an archive elsewhere, as Docker tells them from directories. */
export function isRemoteContext(context: string): boolean {
  return /^(?:[a-z][a-z+]*:\/\/|git@|github\.com\/)/.test(context);
}

/** Nothing is built here: an image that has a name can be built and pushed by the operator. */
export const convertBuild: Converter = (value, service, { project, buildRegistry }) => {
  const own = service.value.fields().get("image");
  const chosen =
    buildRegistry === undefined ? undefined : `${buildRegistry}/${`${project}-${service.name}`.toLowerCase()}`;
  const image = own ? own.text() : chosen;
  if (own && image === undefined) return;
  if (image !== undefined) {
    const how = own
      ? commands(value, service.name, image)
      : commandsOf(value, { project, service: service.name, image });
    value.note(`builds nothing here: a device pulls ${image}. To build and push it: ${how}`);
    if (!own) service.set("image", image, value.place);
    return;
  }
  const name = `REGISTRY/${service.name}:TAG`;
  value.refuse(
    "is not supported without `image`: devices pull their images.",
    `Name the image with \`image: ${name}\`, or all of them with --build-registry, and push it: ${commands(value, service.name, name)}`,
  );
};

/** What the command `docker build` takes in the same meaning. */
const PLAIN_KEYS: ReadonlySet<string> = new Set(["context", "dockerfile", "target"]);

/** Such as without `args`, which may be secrets, and `dockerfile_inline`. */
function isPlain(value: Value): boolean {
  return !value.isMap || [...value.fields().keys()].every((key) => PLAIN_KEYS.has(key));
}

interface BuiltImage {
  readonly project: string;
  readonly service: string;
  readonly image: string;
}

/** The commands for an image whose name is not in the file: compose builds it under a name of its own. */
function commandsOf(value: Value, { project, service, image }: BuiltImage): string {
  if (isPlain(value)) return commands(value, service, image);
  const built = `${project}-${service}`;
  return `docker compose -p ${project} build ${service} && docker tag ${built} ${image} && docker push ${image}`;
}

/** The commands that do what `build` says, in the directory of the project. */
function commands(value: Value, service: string, image: string): string {
  const fields = value.isMap ? value.fields() : new Map<string, Value>();
  if (!isPlain(value)) return `docker compose build ${service} && docker compose push ${service}`;
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
