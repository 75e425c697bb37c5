import { z } from "zod";
import { booleanString } from "../../../protocol/values/scalars.ts";
import { type RolloutBody, rolloutSchema } from "../../../protocol/fleets/rollout.ts";
import { ROLLOUT_COMMANDS, type RolloutCommand } from "../../fleets/command-rollout.ts";
import type { Api, ApiContext } from "../context.ts";
import { errorsWithBody, json } from "../docs/responses.ts";
import { requesterOf } from "../fleets/fleet-resource.ts";
import { findRollout, rolloutParams, toRolloutBody } from "./rollout-resource.ts";

const query = z.strictObject({
  dry_run: booleanString()
    .default(false)
    .meta({ description: "Changes nothing: returns the rollout as it would be, or why the command is refused." }),
});

const advanceQuery = query.extend({
  wave: z.coerce
    .number()
    .int()
    .min(2)
    .max(1_000)
    .optional()
    .meta({ description: "Number of the wave to begin, so that a repeated request begins no later one." }),
});

interface CommandDocs {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
}

const DOCS: Readonly<Record<RolloutCommand, CommandDocs>> = {
  pause: {
    operationId: "pauseRollout",
    summary: "Pause Rollout",
    description: "Nothing begins any more until it is resumed. Deployments under way end.",
  },
  resume: {
    operationId: "resumeRollout",
    summary: "Resume Rollout",
    description: "Starts a draft, or lets a paused rollout go on. What has failed so far does not stop it again.",
  },
  advance: {
    operationId: "advanceRollout",
    summary: "Advance Rollout",
    description: "Lets the next wave begin once nothing of this one is under way.",
  },
  approve: {
    operationId: "approveRollout",
    summary: "Approve Rollout",
    description: "Starts a rollout that awaits approval. Who made it cannot approve it.",
  },
  cancel: {
    operationId: "cancelRollout",
    summary: "Cancel Rollout",
    description: "Ends the rollout as it is. Deployments under way end, and nothing goes back.",
  },
  rollback: {
    operationId: "rollBackRollout",
    summary: "Roll Back Rollout",
    description: "Goes back to the stable revision on every asset that was attempted.",
  },
};

/** `POST /v1/fleets/{fleet}/rollouts/{rollout_id}/pause`, and the other commands for a rollout. */
export function rolloutCommands(api: Api, context: ApiContext<"fleets">): void {
  for (const command of ROLLOUT_COMMANDS) rolloutCommand(api, context, command);
}

function rolloutCommand(api: Api, { store, fleets }: ApiContext<"fleets">, command: RolloutCommand): void {
  const conflicts = command === "approve" ? (["ApprovalBySameUser"] as const) : [];
  const { operationId, summary, description } = DOCS[command];
  api.post(
    `/v1/fleets/:fleet/rollouts/:rollout_id/${command}`,
    {
      schema: {
        operationId,
        summary,
        description: `${description} Has no further effect when repeated.`,
        tags: ["Rollouts"],
        params: rolloutParams,
        querystring: command === "advance" ? advanceQuery : query,
        response: {
          200: json("The rollout.", rolloutSchema),
          ...errorsWithBody("FleetNotFound", "RolloutNotFound", "RolloutStateConflict", ...conflicts),
        },
      },
    },
    async (request): Promise<RolloutBody> => {
      const { fleet, rollout } = await findRollout(store, request);
      const { dry_run: isDryRun, wave } = request.query as z.output<typeof advanceQuery>;
      const options = { isDryRun, toWave: wave === undefined ? undefined : wave - 1 };
      const after = await fleets.command(fleet, rollout.id, command, requesterOf(request), options);
      return toRolloutBody(store, { fleet, rollout: after });
    },
  );
}
