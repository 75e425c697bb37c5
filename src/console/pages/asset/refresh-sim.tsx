import { Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { toFailure } from "../../api/failure.ts";
import { usePermission } from "../../api/session.ts";
import { FailureNote } from "../../parts/failure-note.tsx";
import { PendingButton } from "../../parts/pending-button.tsx";
import { SIM_NAMES, type SimType } from "../sims/sim-words.ts";
import classes from "./asset.module.css";
import { useSimRefresh } from "./sim-queries.ts";

interface Props {
  readonly assetId: string;
  readonly type: SimType;
  /** When the operator was asked last, in Unix seconds. */
  readonly checkedAt: number | null;
}

/** A button that asks the operator of a SIM now, and what came of it. */
export function RefreshSim({ assetId, type, checkedAt }: Props): ReactNode {
  const mayRefresh = usePermission("assets.connectivity");
  const refresh = useSimRefresh(assetId, type);
  const [before, setBefore] = useState<number | null>(null);
  if (!mayRefresh) return null;
  const ask = (): void => {
    setBefore(checkedAt);
    refresh.mutate();
  };
  return (
    <>
      <PendingButton size="compact-sm" variant="default" loading={refresh.isPending} onClick={ask}>
        Refresh<span className="visually-hidden"> the {SIM_NAMES[type]}</span>
      </PendingButton>
      <div className={classes.refreshed}>
        {refresh.error && <FailureNote failure={toFailure(refresh.error)} />}
        <Text size="sm" role="status">
          {refresh.data && refreshedText(type, before, refresh.data.checked_at)}
        </Text>
      </div>
    </>
  );
}

/** What came of asking. The operator is asked at most once a minute, and not at all where none is configured. */
function refreshedText(type: SimType, before: number | null, now: number | null): string {
  if (now === null) return `No operator is configured for a ${SIM_NAMES[type]}: this is what is stored here.`;
  if (now === before) return "It had been asked less than a minute before. This is what it said.";
  return "This is what the operator said.";
}
