import { Stack, Text } from "@mantine/core";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { formatBytes } from "../../parts/format-bytes.ts";
import { Note } from "../../parts/note.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import type { WaitReason } from "../../../protocol/fleets/rollout.ts";
import { formatAssets, WAIT_REASONS } from "../../parts/target-states.ts";
import { followPrice, NO_PRICE, type RolloutPriceSoFar } from "./price-stream.ts";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import type { Fleet } from "../../../protocol/api-types.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Form, PendingButton } from "../../parts/form.tsx";
import { waveSizes } from "./strategy-words.ts";

/** What a rollout would download: in all, how many could not be asked, and the largest. */
function PriceView({ price: { answered, largest, sums } }: { readonly price: RolloutPriceSoFar }): ReactNode {
  if (!sums) return <Text size="sm">{formatAssets(answered)} have answered so far.</Text>;
  return (
    <Note
      kind="info"
      title={`${formatBytes(sums.download_bytes)} in all, on ${formatAssets(sums.asked)} that answered.`}
    >
      {sums.not_asked > 0 && <div>{formatAssets(sums.not_asked)} were not asked.</div>}
      {sums.refused > 0 && <div>{formatAssets(sums.refused)} would refuse it, or did not answer.</div>}
      {sums.foreseen.waiting_for.map(({ for: reason, count, message }) => (
        <div key={`${reason} ${message}`}>
          {formatAssets(count)} would wait {reason in WAIT_REASONS && WAIT_REASONS[reason as WaitReason]}
          {message !== undefined && <>: {message}</>}
        </div>
      ))}
      {largest.length > 0 && (
        <>
          <div>The largest:</div>
          <ul style={{ margin: 0, paddingLeft: "1.25rem" }}>
            {largest.map(({ asset_id: id, asset_name: name, download_bytes: bytes = 0 }) => (
              <li key={id}>
                <SafeText text={name} max={100} />: {formatBytes(bytes)}
              </li>
            ))}
          </ul>
        </>
      )}
    </Note>
  );
}

interface Props {
  readonly fleet: Fleet;
  readonly revision: number;
  readonly onClose: () => void;
}

/** Asks before a rollout: how many assets each wave has and, on request, what they would download. */
export function RollOutDialog({ fleet, revision, onClose }: Props): ReactNode {
  const navigate = useNavigate();
  // One for the dialog: pressing it again after a lost response makes no second rollout.
  const [key] = useState(() => crypto.randomUUID());
  const price = usePrice(fleet.name, revision);
  const plan = price.price?.sums?.plan_id;
  const start = useMutation({
    mutationFn: () =>
      call("POST /v1/fleets/{fleet}/rollouts", {
        path: { fleet: fleet.name },
        // What was priced is what starts, with the same assets in each wave.
        headers: { "Idempotency-Key": `${key}${plan ?? ""}` },
        body: plan === undefined ? { revision } : { plan_id: plan },
      }),
    onSuccess: ({ id }) => navigate(`/fleets/${encodeURIComponent(fleet.name)}/rollouts/${id}`),
  });
  const { requires_approval: needsApproval } = fleet.strategy;
  return (
    <Dialog isOpen onClose={onClose} label={`Roll out revision ${revision}?`}>
      <Form
        action={needsApproval ? "Ask for approval" : "Roll out"}
        onSubmit={() => start.mutate()}
        isPending={start.isPending}
        error={start.error}
        actions={
          <PendingButton variant="default" loading={price.isPending} onClick={price.ask}>
            Ask for the price
          </PendingButton>
        }
      >
        <Waves fleet={fleet} price={price.price} />
        {price.error !== undefined && <FailureNote failure={toFailure(price.error)} />}
        {price.price && <PriceView price={price.price} />}
      </Form>
    </Dialog>
  );
}

function Waves({ fleet, price }: { readonly fleet: Fleet; readonly price: RolloutPriceSoFar | undefined }): ReactNode {
  const { members, strategy, stable_revision: stable } = fleet;
  // The service has counted those that a wave's selector matches.
  const sizes = price?.sums
    ? price.sums.waves.map(({ targets }) => ({ targets, isUpperBound: false }))
    : waveSizes(strategy.waves, members);
  return (
    <Stack gap={4}>
      <Text size="sm">
        It touches {formatAssets(members)}.{stable !== null && ` Stable now: revision ${stable}.`}
      </Text>
      <ol style={{ margin: 0, paddingLeft: "1.5rem" }}>
        {sizes.map(({ targets, isUpperBound }, index) => (
          // Waves have no identity but their place.
          // oxlint-disable-next-line react/no-array-index-key
          <li key={index}>
            <Text size="sm">
              {isUpperBound && "at most "}
              {formatAssets(targets)}
              {strategy.waves[index]?.advance === "manual" && ", then it waits for you"}
            </Text>
          </li>
        ))}
      </ol>
    </Stack>
  );
}

interface AskedPrice {
  readonly price: RolloutPriceSoFar | undefined;
  readonly error: unknown;
  readonly isPending: boolean;
  readonly ask: () => void;
}

/** Ends with the dialog. */
function usePrice(fleet: string, revision: number): AskedPrice {
  const [price, setPrice] = useState<RolloutPriceSoFar>();
  const controller = useRef<AbortController>(null);
  const asking = useMutation({
    mutationFn: async () => {
      controller.current?.abort();
      controller.current = new AbortController();
      setPrice(NO_PRICE);
      await followPrice(fleet, revision, setPrice, controller.current.signal);
    },
  });
  useEffect(() => () => controller.current?.abort(), []);
  return { price, error: asking.error ?? undefined, isPending: asking.isPending, ask: () => asking.mutate() };
}
