import type { BenchmarkResults } from "./benchmark-tables.ts";

type Result = BenchmarkResults["results"][string][number];
/** Finds the row of a benchmark whose description contains these words. */
type FindResult = (bench: string, words: string) => Result;

interface Row {
  readonly what: string;
  readonly figure: string | ((find: FindResult) => string);
  readonly proof: string;
}

/** What sets the project apart. The figures are results of the run that docs/benchmarks.md has. */
const ROWS: readonly Row[] = [
  {
    what: "an image of 100 MB arrives over a link that breaks every 1 MB",
    figure: (find) => {
      const { value, reference } = find("bad-link", "link cut every 1 MB");
      return `${value} received; ${reference}`;
    },
    proof: "[benchmark](docs/benchmarks.md#deployments), [test](test/e2e/bad-link.test.ts)",
  },
  {
    what: "an update downloads the files that changed, not the layers",
    figure: (find) => {
      const { value, reference } = find("update", "patch release, with an index: received");
      return `${value}; ${reference}`;
    },
    proof: "[benchmark](docs/benchmarks.md#updates), [how](docs/image-indexes.md)",
  },
  {
    what: "a download has a price before its first byte; above a limit of the request or a budget of the device it does not begin",
    figure: "`max_download_bytes`, `?dry_run=true`",
    proof: "[data plans](docs/data-plan.md)",
  },
  {
    what: "each deployment ends in one result, with either side killed at every step and every write",
    figure: "each promise names its test",
    proof: "[guarantees](docs/guarantees.md), [test](test/chaos/process-kill-points.test.ts)",
  },
  {
    what: "the device itself goes back to the previous version if an update crashes",
    figure: (find) => `${find("update-gap", "update that crashes").value} from the decision to its answer`,
    proof: "[benchmark](docs/benchmarks.md#updates)",
  },
  {
    what: "after a power cut deployments go on, and apps run without network or registry",
    figure: (find) =>
      `${find("recovery", "killed in mid-deployment").value} from a kill in mid-deployment to the running app`,
    proof: "[benchmark](docs/benchmarks.md#deployments), [test](test/device/life-of-a-device.test.ts)",
  },
  {
    what: "an idle device costs next to nothing",
    figure: (find) =>
      `${find("traffic", "agent idle, a month").value} a month, ${find("idle", "memory (PSS)").value} of memory`,
    proof: "[benchmark](docs/benchmarks.md#the-agent-at-rest)",
  },
  {
    what: "the device listens on no port that can be reached from outside, and its own policy has the last word",
    figure: "each attacker has promises, each promise a test",
    proof: "[security](docs/security.md)",
  },
  {
    what: "one process serves thousands of devices",
    figure: (find) => {
      const memory = find("fleet", "memory of one");
      const [devices = ""] = /\d+(?= devices)/.exec(memory.what) ?? [];
      const [perSecond = ""] = find("fleet", "6 device events each").value.split("/s");
      return `${devices} at ${memory.value} each, ${perSecond} deployments a second`;
    },
    proof: "[benchmark](docs/benchmarks.md#the-service)",
  },
];

/** Returns the table of README.md. Throws when the run has no row for one of its figures. */
export function readmeFigures({ results }: BenchmarkResults): string {
  const find: FindResult = (bench, words) => {
    const found = (results[bench] ?? []).find(({ what }) => what.includes(words));
    if (!found) throw new Error(`${bench} has no result “${words}”, which README.md shows`);
    return found;
  };
  const cells = ROWS.map(({ what, figure, proof }) => [
    what,
    typeof figure === "string" ? figure : figure(find),
    proof,
  ]);
  return [["what", "figure", "proof"], ["---", "---", "---"], ...cells]
    .map((row) => `| ${row.join(" | ")} |`)
    .join("\n");
}
