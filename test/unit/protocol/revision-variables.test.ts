import { describe, expect, it } from "vitest";
import { newAppSpecSchema } from "../../../src/protocol/apps/app-spec.ts";
import { findVariableIssues } from "../../../src/protocol/fleets/revision-variables.ts";

const app = (fields: object = {}) => newAppSpecSchema.parse({ name: "app", image: "example.com/app:1", ...fields });
const pathsOf = (fields: object) => findVariableIssues(app(fields)).map(({ path }) => path);

describe("variables in an app of a revision", () => {
  it("are used in values of the environment", () => {
    const environments = [
      { key: "SITE", value: "${SITE}" },
      { key: "URL", value: "http://${HOST}/$${literal}", secret: true },
      { key: "PRICE", value: "5 $" },
    ];
    expect(findVariableIssues(app({ environments }))).toEqual([]);
  });

  it("are refused with their place where they are written in a wrong way", () => {
    const environments = [
      { key: "A", value: "${A}" },
      { key: "B", value: "http://${HOST-NAME}/" },
    ];
    expect(findVariableIssues(app({ environments }))).toEqual([
      { path: "environments[1].value", reason: expect.stringMatching(/^at character 8: .*'\$\$\{'/) as string },
    ]);
  });

  it.each([
    ["environments[0].key", { environments: [{ key: "${A}", value: "" }] }],
    ["volumes[0].local", { volumes: [{ local: "/data/${SITE}", target: "/data" }] }],
    ["volumes[0].target", { volumes: [{ local: "/data", target: "/data/${SITE}" }] }],
    ["devices[0].local", { devices: [{ local: "/dev/${TTY}" }] }],
    ["labels.site", { labels: { site: "${SITE}" } }],
    ["labels.${SITE}", { labels: { "${SITE}": "x" } }],
    ["working_dir", { working_dir: "/srv/${SITE}" }],
    ["files[0].target", { files: [{ target: "/etc/${SITE}", content: "" }] }],
  ])("are refused in %s", (path, fields) => {
    expect(findVariableIssues(app(fields))).toEqual([
      { path, reason: "must not contain '${': variables of assets are used in values of `environments` only" },
    ]);
  });

  it("are refused in an image, even where another check would not see it", () => {
    const spec = { ...app(), image: "example.com/${TEAM}/app:1" };
    expect(findVariableIssues(spec).map(({ path }) => path)).toEqual(["image"]);
  });

  it("of a shell or of another program are left to it", () => {
    expect(
      pathsOf({
        entrypoint: ["sh", "-c"],
        command: ["exec app --home ${HOME:-/root}"],
        healthcheck: { command: ["sh", "-c", "test -e ${HOME}"] },
        files: [{ target: "/etc/app.conf", content: "path ${HOME}\n" }],
      }),
    ).toEqual([]);
  });
});
