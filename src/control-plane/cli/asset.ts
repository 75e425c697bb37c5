import type { Command } from "commander";
import { assetRegistrationSchema } from "../../protocol/assets/asset-request.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { IN_WORDS } from "../../protocol/values/issue-words.ts";
import { listIssues } from "../../protocol/errors/request-error.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import { type IdentifierConflict, registerAsset } from "../assets/register-asset.ts";
import {
  type AdministrationOptions,
  requireAccount,
  runAdministration,
  withAdministrationOptions,
} from "./administration.ts";
import { commandOrigin } from "./command-origin.ts";
import { addEnrolmentCodeCommand } from "./enrolment-code.ts";
import { type CliContext, ServiceCommandError } from "./context.ts";

interface AssetOptions extends AdministrationOptions {
  readonly account: string;
  readonly serialNumber: string;
  readonly name?: string;
  readonly type?: string;
  readonly supersimSid?: string;
  readonly supersimIccid?: string;
  readonly networkGroup?: string;
  readonly prosimImsi?: string;
  readonly prosimIccid?: string;
  readonly serviceProfile?: string;
}

/** `asset add` and `asset enrolment-code`. */
export function addAssetCommands(program: Command, context: CliContext): void {
  const asset = program.command("asset").description("manage assets");
  addEnrolmentCodeCommand(asset, context);
  withAdministrationOptions(asset.command("add"))
    .description("register an asset; its device token is shown only once")
    .requiredOption("--account <id>", "account that owns the asset")
    .requiredOption("--serial-number <serial>", "serial number of the device")
    .option("--name <name>", "display name; the serial number by default")
    .option("--type <type>", "kind of device")
    .option("--supersim-sid <sid>", "SID of its Super SIM")
    .option("--supersim-iccid <iccid>", "ICCID of its Super SIM")
    .option("--network-group <group>", "network group of its Super SIM")
    .option("--prosim-imsi <imsi>", "IMSI of its PRO SIM")
    .option("--prosim-iccid <iccid>", "ICCID of its PRO SIM")
    .option("--service-profile <profile>", "service profile of its PRO SIM")
    .action((options: AssetOptions) =>
      runAdministration(
        context,
        options,
        async (store) => {
          await requireAccount(store, options.account);
          const registration = parseRegistration(options);
          const origin = commandOrigin(options.account);
          let conflict: IdentifierConflict | undefined;
          const registered = await registerAsset(
            { store, clock: context.clock, isAccepted: true },
            origin,
            registration,
            (found) => {
              conflict = found;
            },
          ).catch(async (error: unknown) => {
            if (!conflict || !(error instanceof EdgeError)) throw error;
            const facts = { action: "asset.registered", outcome: error.code } as const;
            await store.audit.addEntry(auditEntry(origin, context.clock, facts));
            throw new ServiceCommandError(describeIdentifierConflict(conflict));
          });
          return { uuid: registered.asset.uuid, device_token: registered.deviceToken };
        },
        ({ uuid, device_token }) =>
          `asset ${uuid}\n${device_token}\nThe device token is not shown again: put it into the agent's configuration.`,
      ),
    );
}

function describeIdentifierConflict({ taken, value, owner }: IdentifierConflict): string {
  return `${taken} already belongs to asset ${owner.assetUuid} of account ${owner.accountId}: ${value}`;
}

function parseRegistration(options: AssetOptions) {
  const result = assetRegistrationSchema.safeParse(
    {
      serial_number: options.serialNumber,
      name: options.name,
      type: options.type,
      supersim: ifAnySet({
        sid: options.supersimSid,
        iccid: options.supersimIccid,
        network_group: options.networkGroup,
      }),
      prosim: ifAnySet({
        imsi: options.prosimImsi,
        iccid: options.prosimIccid,
        service_profile: options.serviceProfile,
      }),
    },
    IN_WORDS,
  );
  if (result.success) return result.data;
  const issues = listIssues(result.error, assetRegistrationSchema).map(({ path, reason }) => `${path}: ${reason}`);
  throw new ServiceCommandError(issues.join("; "));
}

/** Returns the fields if any option of the SIM is set. The schema reports the missing ones. */
function ifAnySet<T extends object>(fields: T): T | undefined {
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined;
}
