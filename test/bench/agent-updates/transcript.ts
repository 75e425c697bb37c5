import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Gateway } from "./gateway.ts";
import type { Site } from "./site.ts";

/** Lines of a device that say the same within this time are one. */
const SAME_MS = 2_000;

/** What an operator did and read, and what devices did meanwhile, as text of a Markdown page. */
export class Transcript {
  readonly #site: Site;
  readonly #blocks: string[] = [];
  /** Of the part under way. */
  #begunAt = Date.now();
  #lines: { readonly at: number; readonly device: string; readonly text: string }[] = [];

  constructor(site: Site) {
    this.#site = site;
  }

  /** Begins a part. @returns its beginning, in milliseconds since the epoch */
  begin(title: string): number {
    this.#blocks.push(`## ${title}`);
    this.#begunAt = Date.now();
    this.#lines = [];
    return this.#begunAt;
  }

  /** Notes what happens to a device now. */
  add(device: string, text: string): void {
    this.#lines.push({ at: Date.now(), device, text });
  }

  /** Runs a command of edgectl and keeps what it prints. */
  async show(...args: readonly string[]): Promise<string> {
    const at = this.#time(Date.now());
    const { stdout, stderr } = await this.#site.operate(...args);
    const printed = `${stdout}${stderr}`.trimEnd();
    this.#blocks.push(["```log", `${at}$ edgectl ${args.join(" ")}`, printed, "```"].join("\n"));
    return printed;
  }

  /** Applies a file of a fleet. */
  async applyFleet(text: string): Promise<void> {
    const file = join(this.#site.folder, "fleet.yaml");
    await writeFile(file, text);
    const { code, stdout, stderr } = await this.#site.operate("fleets", "apply", "-f", file, "--yes");
    if (code !== 0) throw new Error(`edgectl fleets apply ended with ${code}\n${stdout}${stderr}`);
    const printed = `${stdout}${stderr}`.trimEnd().replaceAll(file, "fleet.yaml");
    this.#blocks.push(["```log", "$ edgectl fleets apply -f fleet.yaml --yes", printed, "```"].join("\n"));
  }

  /** Rolls the newest revision out, and waits until the rollout is over. @returns its id */
  async rollOut(fleet: string): Promise<string> {
    const printed = await this.show("rollouts", "create", fleet, "--yes", "--follow");
    const [id] = /rol_\w+/.exec(printed) ?? [];
    if (id === undefined) throw new Error(`there is no rollout:\n${printed}`);
    return id;
  }

  /** Adds what devices did in the part under way, in the order of time. */
  async addDevices(gateways: readonly Gateway[]): Promise<void> {
    const lines = [...this.#lines];
    for (const gateway of gateways) {
      for (const { at, text } of await gateway.journal(this.#begunAt)) lines.push({ at, device: gateway.name, text });
      for (const { at, isOnline } of this.#site.linkChanges(gateway.asset.uuid))
        lines.push({ at, device: gateway.name, text: isOnline ? "is connected" : "is not connected" });
    }
    const shown = lines.filter(({ at }) => at >= this.#begunAt).toSorted((a, b) => a.at - b.at);
    const fresh = shown.filter(({ at, device, text }, index) => {
      return !shown
        .slice(0, index)
        .some((past) => past.device === device && past.text === text && at - past.at < SAME_MS);
    });
    const printed = fresh.map(({ at, device, text }) => `${this.#time(at)}${device}  ${text.trimEnd()}`);
    this.#blocks.push(["What the devices did:", "", "```text", ...printed, "```"].join("\n"));
  }

  addTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
    this.#blocks.push(markdownTable(header, rows));
  }

  text(): string {
    return `${this.#blocks.join("\n\n")}\n`;
  }

  #time(at: number): string {
    return `${((at - this.#begunAt) / 1000).toFixed(1).padStart(6)} s  `;
  }
}

const tableLine = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`)).join(" | ")} |`;

export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [header, header.map(() => "---"), ...rows].map(tableLine).join("\n");
}
