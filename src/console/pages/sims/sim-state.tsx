import type { ReactNode } from "react";
import type { SimEntry } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { State } from "../../parts/state.tsx";
import { operatorWord, pendingText } from "./sim-words.ts";
import classes from "./sims.module.css";

interface Props {
  readonly sim: Pick<SimEntry, "status" | "operator_status" | "pending" | "lost">;
}

/** The state of a SIM as its operator has confirmed it, and what is not confirmed. */
export function SimState({ sim }: Props): ReactNode {
  const { status, pending, lost } = sim;
  const word = operatorWord(sim);
  const isActive = status === "active";
  return (
    <div className={classes.state}>
      {lost && (
        <State kind="bad" icon="alert">
          lost: the operator did not know it when it was asked last
        </State>
      )}
      <div className={classes.line}>
        <State kind={isActive && !lost ? "good" : "plain"} icon={isActive ? "check" : "pause"}>
          {lost ? `${status} when it was known last` : status}
        </State>
        {word !== undefined && (
          <span className={classes.word}>
            in the operator's words: <SafeText text={word} max={100} />
          </span>
        )}
      </div>
      {pending && (
        <State kind="warn" icon="clock">
          <Pending pending={pending} />
        </State>
      )}
    </div>
  );
}

function Pending({ pending }: Required<Pick<SimEntry, "pending">>): ReactNode {
  const text = pendingText(pending);
  // Another client has changed it at the operator.
  if (text === "")
    return (
      <>
        a change is queued at the operator, seen <Age at={pending.since} />
      </>
    );
  return (
    <>
      asked <Age at={pending.since} /> to <SafeText text={text} max={200} />; the operator has not confirmed it
    </>
  );
}
