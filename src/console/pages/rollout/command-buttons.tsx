import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission, useSession } from "../../api/session.ts";
import type { Rollout, RolloutRetryPlan } from "../../../protocol/api-types.ts";
import { Confirm, Dialog } from "../../parts/dialog.tsx";
import { type Command, type CommandName, commandsFor } from "./commands.ts";
import type { RolloutPath } from "./rollout-queries.ts";
import { useNavigate } from "react-router";
import { isRolloutOver } from "../../../protocol/fleets/rollout-over.ts";
import { PendingButton } from "../../parts/form.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { toFailure } from "../../api/failure.ts";
import { formatAssets } from "../../parts/target-states.ts";

interface Props {
  readonly path: RolloutPath;
  readonly rollout: Rollout;
}

/** What can be done with a rollout in its state. Each button says what it touches before it does it. */
export function CommandButtons({ path, rollout }: Props): ReactNode {
  const mayRollOut = usePermission("fleets.roll_out");
  const { principal } = useSession();
  const [asked, setAsked] = useState<Command>();
  const client = useQueryClient();
  const command = useMutation({
    mutationFn: (name: CommandName) =>
      call(`POST /v1/fleets/{fleet}/rollouts/{rollout_id}/${name}`, { path: { ...path } }),
    onSuccess: async () => {
      setAsked(undefined);
      await client.invalidateQueries({ queryKey: KEYS.rollout(path.rollout_id) });
    },
  });
  if (!mayRollOut) return null;
  // Who made it cannot approve it.
  const isMaker = rollout.created_by.id === principal.id;
  const commands = commandsFor(rollout).filter(({ name }) => name !== "approve" || !isMaker);
  // Its numbers go on while the question is asked.
  const current = commands.find(({ name }) => name === asked?.name) ?? asked;
  const close = (): void => {
    setAsked(undefined);
    command.reset();
  };
  return (
    <>
      {commands.map((each) => (
        <Button
          key={each.name}
          variant={each.isMain ? "filled" : "default"}
          {...(each.isMain && each.isDanger && { color: "red" })}
          onClick={() => setAsked(each)}
        >
          {each.label}
        </Button>
      ))}
      <Confirm
        isOpen={current !== undefined}
        title={current?.question ?? ""}
        action={current?.name === "cancel" ? "Cancel the rollout" : (current?.label ?? "")}
        dismissLabel={current?.name === "cancel" ? "Keep it" : undefined}
        isDanger={current?.isDanger ?? true}
        isPending={command.isPending}
        error={command.error}
        onConfirm={() => current && command.mutate(current.name)}
        onClose={close}
      >
        {current?.effect}
      </Confirm>
    </>
  );
}

const RETRY = "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/retry";

/** Retries what has failed in a rollout that is over: asks the service first what that takes, and then the person. */
export function RetryButton({ path, rollout }: { readonly path: RolloutPath; readonly rollout: Rollout }): ReactNode {
  const mayRollOut = usePermission("fleets.roll_out");
  const [isOpen, setOpen] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const plan = useMutation({
    mutationFn: () => call(RETRY, { path: { ...path }, query: { dry_run: "true" } }),
    onSettled: () => setOpen(true),
  });
  const retry = useMutation({
    mutationFn: async () => {
      await call(RETRY, { path: { ...path } });
      return await call("GET /v1/fleets/{fleet}", { path: { fleet: path.fleet } });
    },
    onSuccess: async ({ latest_rollout: latest }) => {
      setOpen(false);
      await client.invalidateQueries({ queryKey: KEYS.rollout(path.rollout_id) });
      if (latest) await navigate(`/fleets/${encodeURIComponent(path.fleet)}/rollouts/${latest.id}`);
    },
  });
  if (!mayRollOut || !isRolloutOver(rollout) || !mayHaveFailed(rollout)) return null;
  const close = (): void => {
    setOpen(false);
    retry.reset();
  };
  return (
    <>
      <PendingButton variant="default" loading={plan.isPending} onClick={() => plan.mutate()}>
        Retry what failed
      </PendingButton>
      {plan.error ? (
        <Dialog isOpen={isOpen} onClose={close} label="Nothing is retried">
          <FailureNote failure={toFailure(plan.error)} />
          <Button variant="default" onClick={close} mt="md" data-autofocus>
            Close
          </Button>
        </Dialog>
      ) : (
        <Confirm
          isOpen={isOpen && plan.data !== undefined}
          title="Retry what failed?"
          action="Retry"
          isDanger={false}
          isPending={retry.isPending}
          error={retry.error}
          onConfirm={() => retry.mutate()}
          onClose={close}
        >
          {plan.data && "assets" in plan.data && describeRetry(plan.data)}
        </Confirm>
      )}
    </>
  );
}

function mayHaveFailed({ failures, counts }: Rollout): boolean {
  const { failed = 0, lost = 0, refused = 0 } = counts as Partial<typeof counts>;
  return failures.length > 0 || failed + lost + refused > 0;
}

/** Says what a retry takes, and what it leaves out. */
function describeRetry(plan: RolloutRetryPlan): string {
  const { revision, assets, current, left, superseded, under_way: underWay } = plan;
  return [
    underWay === null
      ? `Revision ${revision} goes to ${formatAssets(assets)}, on which it has failed or was refused.`
      : "The retry is under way already.",
    ...(current > 0 ? [`Left out: ${formatAssets(current)} that ${current === 1 ? "runs" : "run"} it by now.`] : []),
    ...(left > 0 ? [`Left out: ${formatAssets(left)} that left the fleet.`] : []),
    ...(superseded ? [`It takes the place of the rollout of revision ${superseded.revision}.`] : []),
  ].join(" ");
}
