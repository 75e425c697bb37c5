import type { ReactNode } from "react";
import { Bytes } from "../../parts/bytes.tsx";
import { SIM_NAMES, type SimType } from "../sims/sim-words.ts";
import classes from "./asset.module.css";
import { type UsageDay, utcDay } from "./usage-days.ts";

interface Props {
  readonly days: readonly UsageDay[];
  /** The SIMs, in the order of `bySim`. */
  readonly types: readonly SimType[];
}

/** Usage by day of every source, the last day first. */
export function UsageTable({ days, types }: Props): ReactNode {
  return (
    <div className={classes.scroll}>
      <table className={classes.list}>
        <thead>
          <tr>
            <th scope="col">Day (UTC)</th>
            {types.map((type) => (
              <th key={type} scope="col" data-number>
                {SIM_NAMES[type]}
              </th>
            ))}
            <th scope="col" data-number>
              Agent
            </th>
            <th scope="col" data-number>
              Device's interfaces
            </th>
          </tr>
        </thead>
        <tbody>
          {days.toReversed().map(({ at, bySim, agent, device }) => (
            <tr key={at}>
              <td>{utcDay(at)}</td>
              {types.map((type, index) => (
                <td key={type} data-number>
                  {bytesOf(bySim[index] ?? null)}
                </td>
              ))}
              <td data-number>{bytesOf(agent)}</td>
              <td data-number>{bytesOf(device)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function bytesOf(bytes: number | null): ReactNode {
  return bytes === null ? "not known" : <Bytes value={bytes} />;
}
