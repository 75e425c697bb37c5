import type { Value } from "../documents/value.ts";
import type { Converter } from "./service.ts";

/** Nothing is built here: an image that has a name can be built and pushed by the operator. */
export const convertBuild: Converter = (value, service) => {
  const image = service.value.fields().get("image")?.text();
  const fields = value.isMap ? value.fields() : new Map<string, Value>();
  const directory = (value.isMap ? fields.get("context")?.text() : value.text()) ?? ".";
  const file = fields.get("dockerfile")?.text();
  const target = fields.get("target")?.text();
  const options = [
    ...(file === undefined ? [] : ["-f", `${directory}/${file}`]),
    ...(target === undefined ? [] : ["--target", target]),
  ];
  const build = (name: string): string => ["docker build -t", name, ...options, directory].join(" ");
  if (image !== undefined) {
    value.note(
      `builds nothing here: a device pulls ${image}. To build and push it: ${build(image)} && docker push ${image}`,
    );
    return;
  }
  const name = `REGISTRY/${service.name}:TAG`;
  value.refuse(
    "is not supported without `image`: devices pull their images.",
    `Name the image with \`image: ${name}\`, and push it: ${build(name)} && docker push ${name}`,
  );
};
