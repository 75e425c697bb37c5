import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { blocksOf, commandBlocksOf } from "../support/documentation.ts";

/** Blocks that no test runs, and why. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "README.md#Try it/1": "is the quickstart, which test/e2e/console/quickstart.test.ts runs without npm",
  "CONTRIBUTING.md#One test, and debugging/1": "runs tests; test/unit/scripts tests what is selected",
  "docs/agent-updates.md#Making and signing a release/2":
    "compresses for minutes; test/device/agent-updates.test.ts packages and signs with the same functions",
  "docs/agent-updates.md#The number of a version/1":
    "changes the sources; test/repo/version.test.ts compares the two places",
  "docs/install.md#The package/1": "the same",
  "docs/agent-updates.md#From the control plane/2":
    "needs a release and a registry; test/integration/edgectl/agent-releases-push.test.ts runs it",
  "docs/api.md#Update the agent/1":
    "needs a registry with a release; test/integration/control-plane/update-agent.test.ts sends it",
  "docs/pilot.md#1. The service, with TLS/1": "builds, and copies to a server that a test has not",
  "docs/pilot.md#2. The first admin, and people/2":
    "asks in a browser; test/e2e/documentation/first-use.test.ts logs in so",
  "docs/pilot.md#3. A key, then the package/1":
    "compresses for minutes; test/device/agent-updates.test.ts packages and signs with the same functions",
  "docs/pilot.md#Later: another version of the agent/1": "changes the sources, and compresses for minutes",
  "docs/pilot.md#Later: another version of the agent/2":
    "needs a release; test/integration/control-plane/agent-release.test.ts adds one by the same command",
  "docs/pilot.md#Later: another version of the agent/3":
    "needs a device that trusts a release; test/device/agent-updates.test.ts updates one from the service",
  "docs/guarantees.md#How they are tested/1": "runs tests",
  "docs/compose.md#Two public stacks/1":
    "needs the internet; test/bench/compose-files checks the same file, and test/e2e/apply-files.test.ts applies one",
  "docs/compose.md#Two public stacks/2": "the same",
  "docs/service-scaling.md#Two instances with Docker Compose/1":
    "needs docker compose 2, which Debian 12 has not; test/e2e/recipes/compose.test.ts does the same with docker-compose 1",
  "docs/service-scaling.md#Two instances with Docker Compose/2": "the same",
};

const key = ({ file, heading, number }: { file: string; heading: string; number: number }): string =>
  `${file}#${heading}/${number}`;

const documents = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...readdirSync("docs", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

/** Calls of `documented` in the tests, as keys. */
function claims(): Map<string, string> {
  const files = readdirSync("test", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  return new Map(
    files.flatMap((name) => {
      const text = readFileSync(join("test", name), "utf8");
      const calls = text.matchAll(/\bdocumented\(\s*"([^"]+)",\s*"([^"]+)"(?:,\s*(\d+))?,?\s*\)/g);
      return [...calls].map(
        ([, file = "", heading = "", number = "1"]) => [`${file}#${heading}/${number}`, name] as const,
      );
    }),
  );
}

test("each block of commands in the documents is run by a test as it is printed", () => {
  const run = claims();
  const unclaimed = documents.flatMap((file) => commandBlocksOf(file).map(key)).filter((name) => !run.has(name));
  expect(unclaimed.toSorted()).toEqual(Object.keys(NOT_RUN).toSorted());
});

test("a block of commands is marked as such", () => {
  const commands = /^\s*(?:\$ |sudo |edge-agent |edge-control |edgectl |curl |docker |npm |systemctl )/m;
  const unmarked = documents.flatMap((file) =>
    blocksOf(file).filter(({ language, text }) => (language === "" || language === "text") && commands.test(text)),
  );
  expect(unmarked).toEqual([]);
});
