import type { Clock } from "../../lib/clock.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import type { AuditAction } from "../core/people/audit-actions.ts";
import type { Rollout, RolloutFields, TargetCount } from "../core/fleets/rollout.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import { decideRollout } from "../core/fleets/progress.ts";
import {
  advance,
  approve,
  cancel,
  type CommandOutcome,
  pause,
  resume,
  rollBack,
} from "../core/fleets/rollout-commands.ts";
import type { RolloutStore } from "../store/rollouts.ts";
import type { Requester } from "./make-revision.ts";
import { rolloutEvent } from "./rollout-events.ts";

export const ROLLOUT_COMMANDS = ["pause", "resume", "advance", "approve", "cancel", "rollback"] as const;
export type RolloutCommand = (typeof ROLLOUT_COMMANDS)[number];

export interface CommandOptions {
  readonly isDryRun: boolean;
  /** With `advance`: the wave to begin, from 0. */
  readonly toWave?: number | undefined;
}

/** What a command depends on besides the rollout. */
interface CommandInput extends Requester {
  readonly toWave: number | undefined;
  readonly counts: readonly TargetCount[];
  readonly nowMs: number;
}

interface CommandRules {
  readonly action: AuditAction;
  readonly decide: (rollout: Rollout, input: CommandInput) => CommandOutcome;
}

const RULES: Readonly<Record<RolloutCommand, CommandRules>> = {
  pause: {
    action: "rollout.paused",
    decide: (rollout, input) => pause(rollout, by("Paused", input), input.person),
  },
  resume: {
    action: "rollout.resumed",
    decide: (rollout, { counts, nowMs }) => resume(rollout, counts, nowMs),
  },
  advance: { action: "rollout.advanced", decide: (rollout, { toWave }) => advance(rollout, toWave) },
  approve: {
    action: "rollout.approved",
    decide: (rollout, { person, nowMs }) => approve(rollout, person, nowMs),
  },
  cancel: {
    action: "rollout.cancelled",
    decide: (rollout, input) => cancel(rollout, by("Cancelled", input), input.nowMs),
  },
  rollback: {
    action: "rollout.reverted",
    decide: (rollout, input) => rollBack(rollout, by("Rolled back", input), input.person),
  },
};

/**
 * Carries out a person's command, or with `isDryRun` only says what it would lead to. Returns the rollout afterwards, which is
 * as it was if it is so already. Errors: `RolloutNotFound`, `RolloutStateConflict`, `ApprovalBySameUser`.
 */
export async function commandRollout(
  { store, clock }: { readonly store: RolloutStore; readonly clock: Clock },
  fleet: Pick<Fleet, "name">,
  id: string,
  command: RolloutCommand,
  requester: Requester,
  { isDryRun, toWave }: CommandOptions,
): Promise<Rollout> {
  const { action, decide } = RULES[command];
  const nowMs = clock.now();
  let refusal: EdgeError | undefined;
  let planned: Rollout | undefined;
  const waits = isDryRun ? [] : await store.listWaits(id);
  const after = await store.commandRollout(id, (rollout, counts) => {
    const input = { ...requester, counts, nowMs, toWave };
    const outcome = decide(rollout, input);
    refusal = outcome.kind === "refused" ? outcome.error : undefined;
    if (outcome.kind !== "change") return undefined;
    const fields = withNextWave(rollout, outcome.fields, input);
    planned = { ...rollout, ...fields };
    if (isDryRun) return undefined;
    const details = { fleet: fleet.name, reason: fields.reason, wave: (outcome.fields.advanceTo ?? rollout.wave) + 1 };
    return {
      fields,
      event: rolloutEvent(planned, counts, nowMs, waits),
      audit: auditEntry(requester.origin, clock, { action, subject: { kind: "rollout", id }, details }),
    };
  });
  if (!after) throw new EdgeError("RolloutNotFound");
  if (refusal) throw refusal;
  return isDryRun ? (planned ?? after) : after;
}

/** A wave that a person lets begin is entered at once where nothing holds it. */
function withNextWave(rollout: Rollout, fields: RolloutFields, { counts, nowMs }: CommandInput): RolloutFields {
  const after = { ...rollout, ...fields };
  if (fields.advanceTo === undefined || after.state !== "running") return fields;
  const decision = decideRollout(after, counts, [], nowMs);
  return decision.kind === "enter_wave" ? { ...fields, ...decision.fields } : fields;
}

function by(what: string, { person: { name, id } }: Requester): string {
  return `${what} by ${name ?? id}.`;
}
