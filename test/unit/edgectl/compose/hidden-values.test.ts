import { describe, expect, test } from "vitest";
import { convert, convertWeb } from "../../../support/edgectl/compose.ts";

const PLANTED = "planted-41c7";
const env = { DB_PASSWORD: PLANTED, DSN: `postgres://u:${PLANTED}@db/x`, AUTH_TOKEN: "none" };

describe("no message shows the value of a variable that looks like a secret", () => {
  test.each<[string, string?]>([
    ["volumes: ['$DB_PASSWORD:/x']"],
    ["volumes: ['./$DB_PASSWORD.conf:/x']"],
    ["volumes: ['./$DB_PASSWORD:/x']"],
    ["volumes: ['$DB_PASSWORD']"],
    ["volumes: ['a:/x:$DB_PASSWORD']", "volumes: {a: }"],
    ["volumes: ['a:/$DB_PASSWORD', 'b:/$DB_PASSWORD']", "volumes: {a: , b: }"],
    ["volumes: ['a:/a', 'b:/b']", "volumes: {a: {name: x$DB_PASSWORD}, b: {external: true, name: x$DB_PASSWORD}}"],
    ["networks: [$DB_PASSWORD]"],
    ["networks: [a]", "networks: {a: {external: true, name: $DB_PASSWORD}}"],
    ["networks: {a: {ipv4_address: $DB_PASSWORD}}\nenvironment: {X: $DB_PASSWORD}", "networks: {a: }"],
    ["depends_on: [$DB_PASSWORD]"],
    ["links: [$DB_PASSWORD]"],
    ["extends: {service: $DB_PASSWORD}"],
    ["extends: {file: $DB_PASSWORD, service: x}"],
    ["network_mode: service:$DB_PASSWORD"],
    ["network_mode: container:$DB_PASSWORD"],
    ["configs: [$DB_PASSWORD]"],
    ["secrets: [a]", "secrets: {a: {file: ./$DB_PASSWORD}}"],
    ["secrets: [a]", "secrets: {a: {environment: $DB_PASSWORD}}"],
    ["env_file: $DB_PASSWORD"],
    ["ports: ['$DB_PASSWORD:80:80']"],
    ["pull_policy: $DB_PASSWORD"],
    ["profiles: [$DB_PASSWORD]"],
    ["build: {context: 'https://x:${DB_PASSWORD}@git.example.com/a.git'}"],
    ["build: '$DSN'"],
    ["labels: ['$DB_PASSWORD=1', {}]"],
    ["environment: ['$DB_PASSWORD']"],
    ["user: '${NO:?say $DB_PASSWORD}'"],
    ["deploy: {'mode': $DSN}"],
  ])("%s", (lines, rest = "") => {
    const { problems, rawNotes } = convertWeb(lines, rest, { env });
    const texts = [...problems, ...rawNotes];
    expect(texts).not.toEqual([]);
    expect(texts.join("\n")).not.toContain(PLANTED);
  });

  test("the variable is named in its place", () => {
    const { problems } = convertWeb("volumes: ['x$DB_PASSWORD:/x']", "", { env });
    expect(problems[0]).toContain("names the volume x${DB_PASSWORD}, which is not under");
  });

  test("nor what x-edge-secrets declares", () => {
    const lines =
      "environment: {A: $PLAIN, B: $PLAIN-b}\nx-edge-secrets: [A, B]\nvolumes: ['$PLAIN:/x', '${PLAIN}-b:/y']";
    const { problems } = convertWeb(lines, "", { env: { PLAIN: PLANTED } });
    expect(problems.join()).not.toContain(PLANTED);
    expect(problems[0]).toContain("names the volume ***, which");
    expect(problems[1]).toContain("names the volume ***, which");
  });

  test("nor those of an included file, with the variables beside it", () => {
    const files = {
      "b/compose.yaml": "services: {db: {image: 'db:1', volumes: ['$DB_PASSWORD:/x']}}",
      "b/.env": `DB_PASSWORD=${PLANTED}\nNO=\${MISSING:?\${DB_PASSWORD}}`,
    };
    const { problems } = convert("include: [b/compose.yaml]", { files });
    expect(problems).toHaveLength(2);
    expect(problems.join()).not.toContain(PLANTED);
  });

  test("other values, short ones and settings are shown", () => {
    const shown = { NAME: "disk", A_KEY: "abc", ...env };
    const { problems } = convertWeb("volumes: ['$NAME:/a', '$A_KEY:/b', '$AUTH_TOKEN:/c']", "", { env: shown });
    expect(problems.map((line) => /the volume (\S+),/.exec(line)?.[1])).toEqual(["disk", "abc", "none"]);
  });
});
