import { describe, expect, test } from "vitest";
import { convert, convertWeb } from "../../../support/edgectl/compose.ts";

describe("the commands that build and push an image", () => {
  test.each([
    ["build: .", "docker build -t web:1 . && docker push web:1"],
    ["build: {dockerfile: D}", "docker build -t web:1 -f D . && docker push web:1"],
    ["build: {context: ./, dockerfile: ./D}", "docker build -t web:1 -f D ./ && docker push web:1"],
    ["build: {context: ./web, dockerfile: ../D}", "docker build -t web:1 -f D ./web && docker push web:1"],
    ["build: {context: ./web, dockerfile: /D}", "docker build -t web:1 -f /D ./web && docker push web:1"],
    ['build: {context: "it\'s here", target: t}', "-t web:1 --target t 'it'\\''s here' && docker push web:1"],
    ["build: {context: 'https://h/r.git', dockerfile: d/D}", "docker build -t web:1 -f d/D https://h/r.git &&"],
    ["build: {context: ., args: {T: planted}}", "docker compose build web && docker compose push web"],
    ["build: {dockerfile_inline: FROM a}", "docker compose build web && docker compose push web"],
  ])("%s", (lines, commands) => {
    const { problems, notes } = convertWeb(lines);
    expect(problems).toEqual([]);
    expect(notes).toEqual([expect.stringContaining(`To build and push it: `)]);
    expect(notes[0]).toContain(commands);
    expect(notes[0]).not.toContain("planted");
  });

  test.each([
    ["build: .", "docker build -t r.example.com/team/gw-web . && docker push r.example.com/team/gw-web"],
    [
      "build: {context: ., args: {T: planted}}",
      "docker compose -p gw build web && docker tag gw-web r.example.com/team/gw-web && docker push r.example.com/team/gw-web",
    ],
  ])("name it after its service, with --build-registry and without `image`: %s", (lines, commands) => {
    const inputs = { buildRegistry: "r.example.com/team" };
    const { apps, problems, notes } = convert(`services: {web: {${lines}}, Db: {build: ., image: 'db:1'}}`, inputs);
    expect(problems).toEqual([]);
    expect(apps["web"]).toMatchObject({ image: "r.example.com/team/gw-web" });
    expect(apps["Db"]).toMatchObject({ image: "db:1" });
    expect(notes.join("\n")).toContain(commands);
  });

  test.each([
    [".", "docker build -t a:1 ./sub &&"],
    ["../x", "docker build -t a:1 ./x &&"],
    ["{context: y}", "docker build -t a:1 ./sub/y &&"],
    ["'https://h/r.git'", "docker build -t a:1 https://h/r.git &&"],
  ])("are for the directory of the project, with the context %s of an included file", (build, commands) => {
    const files = { "sub/i.yaml": `services: {a: {image: 'a:1', build: ${build}}}` };
    const { problems, notes } = convert("include: [sub/i.yaml]", { files });
    expect(problems).toEqual([]);
    expect(notes.join("\n")).toContain(commands);
  });
});
