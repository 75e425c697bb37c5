import { type Command, InvalidArgumentError } from "commander";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { MAX_CODE_VALIDITY_S } from "../../protocol/assets/enrolment.ts";
import { getAsset } from "../api/assets.ts";
import { connect, createContext } from "../context.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { createAssets } from "../runs/create-assets.ts";
import { CodeFile, issueCode, type NamedCode } from "../runs/enrolment-codes.ts";
import { renderCodes } from "../views/asset-view.ts";
import { parseDuration } from "./asset-settings.ts";

interface CreateOptions {
  readonly file: string;
  readonly codes?: string;
  /** In seconds. */
  readonly valid?: number;
  readonly accept?: true;
  readonly dryRun?: true;
}

interface CodeOptions {
  readonly output?: string;
  /** In seconds. */
  readonly valid?: number;
}

export function addAssetsCreate(assets: Command, io: Io): void {
  assets
    .command("create")
    .description("register the assets of a file, with tags, and make enrolment codes for their devices")
    .requiredOption("-f, --file <file>", "CSV with a header, or a list in JSON or YAML; - for standard input")
    .option("--codes <file>", "new CSV file for an enrolment code of each, which only you can read")
    .option("--valid <duration>", "how long the codes can be used, such as 24h or 7d (24h if not given)", parseValidity)
    .option("--accept", "accept the devices that will use the codes: fleets reach them as soon as they connect")
    .option("--dry-run", "check everything, and change nothing")
    .addHelpText("after", CREATE_HELP)
    .action(async ({ file, codes, valid, accept, dryRun }: CreateOptions, command: Command) => {
      if (valid !== undefined && codes === undefined)
        throw usageFailure("--valid is about codes, and no file for them is given.", "Give --codes FILE.");
      const flags = { accept: accept === true, dryRun: dryRun === true };
      await createAssets(createContext(io, command), { file, codes, validS: valid, ...flags });
    });
}

export function addAssetsCode(assets: Command, io: Io): void {
  assets
    .command("code")
    .description("make a code for each asset, with which its device is enrolled once; earlier unused ones are void")
    .argument("<assets...>", "the assets: serial numbers, SIM SIDs, ICCIDs or UUIDs")
    .option("-o, --output <file>", "new CSV file for the codes, which only you can read, in place of showing them")
    .option("--valid <duration>", "how long the codes can be used, such as 24h or 7d (24h if not given)", parseValidity)
    .addHelpText("after", CODE_HELP)
    .action(async (names: readonly string[], { output, valid }: CodeOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const client = await connect(context);
      await using file = output === undefined ? undefined : await CodeFile.create(output);
      const codes: NamedCode[] = [];
      try {
        for (const asset of names) {
          const { name, serial_number: serialNumber, last_seen: lastSeen } = await getAsset(client, asset);
          const code = { ...(await issueCode(context, client, serialNumber, valid)), name };
          codes.push(code);
          await file?.add(code);
          if (typeof lastSeen === "number")
            printer.note(
              `${sanitizeLine(serialNumber)} has a device: the one that uses the code takes its place, and has to be accepted.`,
            );
        }
      } finally {
        // Also after a failure: a code is not shown again.
        const isShown = file === undefined && codes.length > 0;
        if (isShown) printer.result({ codes }, () => renderCodes(codes, printer.theme, printer.width));
        if (file) printer.result({ codes_file: output, count: file.count }, () => codeFileText(file));
      }
    });
}

function codeFileText({ path, count }: CodeFile): string {
  return count === 0 ? "No code was made." : `${path} has ${count === 1 ? "1 code" : `${count} codes`}.`;
}

function parseValidity(text: string): number {
  const seconds = parseDuration(text);
  if (seconds > MAX_CODE_VALIDITY_S) throw new InvalidArgumentError("Give at most 30d.");
  return seconds;
}

const CREATE_HELP = `
A CSV file has a header with serial_number and, as needed, name, type, tags,
supersim.sid, supersim.iccid, supersim.network_group, prosim.imsi, prosim.iccid
and prosim.service_profile. Tags are written as role=kiosk region=north. A list
in JSON or YAML has the fields of the API, and tags as an object.

Examples:
  edgectl assets create -f assets.csv --dry-run
  edgectl assets create -f assets.csv --codes codes.csv --valid 7d`;

const CODE_HELP = `
On the device: sudo edge-agent enroll --url URL --code CODE

Examples:
  edgectl assets code GW-0001
  edgectl assets code GW-0001 GW-0002 -o codes.csv --valid 7d`;
