import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

/*
 * Who follows an advice of a refusal must not end with less than the file means: not with an app that is less isolated or can
 * be reached from more places, and not with an empty volume in place of data. Every advice in the source is in this table, by
 * what comes of it.
 */

const DIRECTORY = join(import.meta.dirname, "../../../../src/edgectl/compose");

/** What the file means, by other words. */
const KEEPS: readonly string[] = [
  "Add it there (${source}:), or write ./${source} for a file beside this one.",
  "Do it in the entrypoint.",
  "GPUs are asked for with `gpus`.",
  "Give both services a network of one name (`networks: {shared: {name: shared}}`), on which they reach each other by name.",
  "Give services that must not reach each other networks of their own.",
  "Handle the `stop_signal` in the app.",
  "Make the volume on the device with these options (`docker volume create --opt …`), and write `external: true`.",
  "Mount what the driver would bring under a path of the device, and name that path in the service.",
  "Name each file by itself, which keeps its rights.",
  "Name networks under `networks`.",
  "Name other devices under `devices` of the service.",
  "Name the GPUs with `device_ids`, or write all.",
  "Name the same volume in both services.",
  "Publish them in the service ${owner}, whose network it is, as for compose.",
  "Put the file there. Where a directory is meant, make it: compose would make an empty directory.",
  "Put the files into the image, or on the device, and mount them there by their absolute path.",
  "Put the service that makes it into this file. Without it, the traffic of this one would go around that one.",
  "Remove it here, and say it where the network is made: `docker network create --internal`.",
  "Remove it, and put literal values into single quotes.",
  "Remove it: all services are on one device.",
  "Remove it: it is for Windows.",
  "Use `file` or `environment`.",
  "Use `file`.",
  "Use `gpus: all`.",
  "Use `hostname`.",
  "Use `labels`.",
  "Use `memswap_limit`: the same as `mem_limit` for no swap.",
  "Use `network_mode: host` in the services that are on it.",
  "Use `network_mode: none` in the services that are on it.",
  "Use `pull_policy: always`.",
  "Use missing or always.",
  "Use missing, and name the image with its digest (NAME@sha256:…): no other one can come in its place.",
  "Use size, mode, uid, gid and exec.",
  "Use the engine's names where the app needs one: eth0 for its first network.",
  "Write `condition: on-failure` beside it.",
  "Write the address into each of `ports`: 127.0.0.1:8080:80.",
  "Write the name ${app} in place of ${address} there. Where only an address will do, such as for a name server, use 127.0.0.1 with \\`network_mode: service:${app}\\`.",
  "Write the path in the volume, such as conf/site.",
  "Write the path on the device from / on, or ./ for files beside this one.",
  "Write what comes of the template.",
];

/** The app has less than the file gives it: fewer rights, or fewer who reach it. */
const STRICTER: readonly string[] = [
  "An app has no address of its own in the device's network: publish the ports that are used at the device's.",
  "Limit its memory with `mem_limit`.",
  "Limit the service itself with `mem_limit`, `cpus` and `pids_limit`.",
  "Mount only the directory that the app needs.",
  "Remove it: an app with the engine's socket has the whole device.",
  "Remove it: the services of this file then share a network of their own.",
  "The engine's own profile applies without it. Where this one is stricter, take rights away with `cap_drop`, `read_only` and `user`.",
  "Use `cpus`.",
  "Use `mem_limit`.",
  "Use `read_only: true`, and a `tmpfs` with a size for what the app writes.",
];

/** What a person has to bring, or to decide, without which docker-compose has nothing either. */
const BRINGS: readonly string[] = [
  '${["docker build -t", image, ...words.map(quoted)].join(" ")} && docker push ${image}',
  'Choose it with --profile ${profiles[0] ?? ""}.',
  "Choose with --profile ${profileOf(inactive)}.",
  "Download it, and name it by its path.",
  "For a directory that the app writes to, use a named volume: data:${target}",
  "Give a program.",
  "Give each copy a service.",
  "Give each service one of its own, or none.",
  "Name the image with \\`image: ${name}\\`, or all of them with --build-registry, and push it: ${commands(value, service.name, name)}",
  "Rename that one.",
  "Split it.",
  "Write `external: true` in both, or in neither.",
  "docker compose build ${service} && docker compose push ${service}",
];

/** Something is lost that is neither isolation, nor traffic, nor data. */
const LESS: readonly string[] = [
  "Remove it, and restart this service after updates of ${name} if it does not connect again by itself.",
  "Remove it, or let the program of the service send its log itself.",
  "Remove it.",
];

/** Words of what an advice must never bring about, and the advices that may have them. */
const DANGEROUS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/privileged|cap_add|unconfined|chmod|docker\.sock/, []],
  [/0\.0\.0\.0|\[::\]/, []],
  // Of services that are on the engine's own network of that name.
  [/network_mode: host/, ["Use `network_mode: host` in the services that are on it."]],
  // Ports of which all were reached before, at an address of the app's own, and those of the app whose network it is.
  [
    /[Pp]ublish/,
    [
      "An app has no address of its own in the device's network: publish the ports that are used at the device's.",
      "Publish them in the service ${owner}, whose network it is, as for compose.",
    ],
  ],
  // Of a directory in which there is no file.
  [/named volume|a volume of its own/, ["For a directory that the app writes to, use a named volume: data:${target}"]],
];

/** A call's arguments as they are written, from behind its parenthesis. */
function argumentsAt(source: string, start: number): string[] {
  const found: string[] = [];
  const open: string[] = [];
  let from = start;
  for (let at = start; at < source.length; at++) {
    const character = source.charAt(at);
    const quote = open.at(-1);
    if (quote === '"' || quote === "'" || quote === "`") {
      if (character === "\\") at++;
      else if (character === quote) open.pop();
      else if (quote === "`" && source.startsWith("${", at)) open.push(source.charAt(++at));
    } else if (`"'\`([{`.includes(character)) open.push(character);
    else if (")]}".includes(character)) {
      if (open.length === 0) return [...found, source.slice(from, at)];
      open.pop();
    } else if (character === "," && open.length === 0) {
      found.push(source.slice(from, at));
      from = at + 1;
    }
  }
  throw new Error("a call without its end");
}

const TEXT = /"((?:[^"\\]|\\.)*)"|`((?:[^`\\$]|\\.|\$\{[^}]*\}|\$(?!\{))*)`/g;

/** The sentences of an expression, and of the constants and functions of its file that it names. */
function sentencesIn(expression: string, source: string, seen = new Set<string>()): string[] {
  const texts = [...expression.matchAll(TEXT)].map(([, plain, template]) => plain ?? template ?? "");
  const names = expression.replaceAll(TEXT, "").match(/[A-Za-z_]\w*/g) ?? [];
  const inserted = texts.flatMap((text) => [...text.matchAll(/\$\{(\w+)\(/g)].map(([, name]) => name ?? ""));
  const others = [...names, ...inserted].flatMap((name) => {
    if (seen.has(name)) return [];
    seen.add(name);
    const pattern = String.raw`const ${name}\b[^=]*=\s(?:.|\n)*?;\n|function ${name}\((?:.|\n)*?\n\}\n`;
    const [definition] = new RegExp(pattern).exec(source) ?? [];
    return definition === undefined ? [] : sentencesIn(definition.replace(/^(?:const|function) \w+/, ""), source, seen);
  });
  return [...texts.filter((text) => text.includes(" ")), ...others];
}

/** Calls that refuse something, and which of their arguments is the advice. */
const CALLS: readonly (readonly [RegExp, number])[] = [
  [/\.refuse\(/g, 1],
  [/\brefused\((?!advice)/g, 0],
  [/problems\.add\(/g, 2],
];

const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

function advices(): string[] {
  const files = readdirSync(DIRECTORY).filter((name) => name.endsWith(".ts"));
  const sources = files.map((name) => readFileSync(join(DIRECTORY, name), "utf8").replaceAll(COMMENT, ""));
  const shared = sources.flatMap((source) => source.match(/^export const [A-Z_]+ =\s(?:.|\n)*?;\n/gm) ?? []);
  const found = files.flatMap((name, file) => {
    const own = sources[file] ?? "";
    const source = [own, ...shared].join("\n");
    return CALLS.flatMap(([pattern, index]) =>
      [...own.matchAll(pattern)].flatMap(({ index: at, 0: call }) => {
        const advice = argumentsAt(source, at + call.length)[index]?.trim() ?? "";
        // Those of the table of keys are found where the table has them.
        if (advice === "" || advice === "rule.advice") return [];
        const sentences = sentencesIn(advice, source);
        if (sentences.length === 0) throw new Error(`${name}: the advice ${advice} was not found`);
        return sentences;
      }),
    );
  });
  return [...new Set(found)].toSorted();
}

describe("the advices of refusals", () => {
  const found = advices();

  test("are found in the source", () => {
    expect(found.length).toBeGreaterThan(50);
  });

  test("are all in the table, and no others", () => {
    expect([...KEEPS, ...STRICTER, ...BRINGS, ...LESS].toSorted()).toEqual(found);
  });

  test.each(DANGEROUS.map(([pattern, allowed]) => [pattern.source, pattern, allowed] as const))(
    "say %s only where the file means it",
    (_name, pattern, allowed) => {
      expect(found.filter((advice) => pattern.test(advice))).toEqual(allowed.toSorted());
    },
  );
});
