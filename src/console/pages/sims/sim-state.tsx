import type { ReactNode } from "react";
import type { SimEntry } from "../../api/types.ts";
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
      <div>
        <State kind={isActive ? "good" : "plain"} icon={isActive ? "check" : "pause"}>
          {status}
        </State>
        {word !== undefined && (
          <span className={classes.word}>
            , in the operator's words: <SafeText text={word} max={100} />
          </span>
        )}
      </div>
      {pending && (
        <State kind="warn" icon="clock">
          asked <Age at={pending.since} /> <SafeText text={pendingText(pending)} max={200} />; the operator has not
          confirmed it
        </State>
      )}
      {lost && (
        <State kind="bad" icon="alert">
          lost: the operator did not know it when it was asked last
        </State>
      )}
    </div>
  );
}
