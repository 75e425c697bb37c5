import { type Command, InvalidArgumentError } from "commander";
import { formatEnrolmentCode, MAX_CODE_VALIDITY_S } from "../../protocol/assets/enrolment.ts";
import { issueCode } from "../assets/enrolment-codes.ts";
import {
  type AdministrationOptions,
  requireAccount,
  runAdministration,
  formatTimeOrNever,
  withAdministrationOptions,
} from "./administration.ts";
import { commandOrigin } from "./command-origin.ts";
import { type CliContext, ServiceCommandError } from "./context.ts";

const SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 24 * 3600 };

interface CodeOptions extends AdministrationOptions {
  readonly account: string;
  readonly asset: string;
  /** Seconds. */
  readonly valid: number;
}

/** `asset enrolment-code`. */
export function addEnrolmentCodeCommand(asset: Command, context: CliContext): void {
  withAdministrationOptions(asset.command("enrolment-code"))
    .description("create a code to enrol the asset's device; it works once, and replaces earlier unused codes")
    .requiredOption("--account <id>", "account that owns the asset")
    .requiredOption("--asset <identifier>", "the asset: serial number, SIM SID, ICCID or UUID")
    .option(
      "--valid <time>",
      "how long the code is valid, such as 30m, 24h or 7d; at most 30d",
      parseDuration,
      24 * 3600,
    )
    .action((options: CodeOptions) =>
      runAdministration(
        context,
        options,
        async (store) => {
          await requireAccount(store, options.account);
          const found = await store.assets.findAsset(options.account, options.asset);
          if (!found) throw new ServiceCommandError(`there is no asset ${options.asset} in this account`);
          const origin = commandOrigin(options.account);
          const terms = { validS: options.valid, mayReplace: true };
          const services = { store, clock: context.clock };
          const { code, expiresAt } = await issueCode(services, found.uuid, terms, origin);
          return {
            code: formatEnrolmentCode(code),
            uuid: found.uuid,
            serial_number: found.serialNumber,
            expires_at: expiresAt,
          };
        },
        ({ code, serial_number, expires_at }) =>
          `${code}\nIt enrols ${serial_number} once, until ${formatTimeOrNever(expires_at)}, and is not shown again. On the device:\n` +
          `  sudo edge-agent enroll --url https://HOST --code ${code}`,
      ),
    );
}

function parseDuration(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (SECONDS[unit] ?? 0);
  if (count !== "" && seconds > 0 && seconds <= MAX_CODE_VALIDITY_S) return seconds;
  throw new InvalidArgumentError("Expected a duration such as 30m, 24h or 7d, at most 30d.");
}
