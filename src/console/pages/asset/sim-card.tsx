import { Title } from "@mantine/core";
import type { ReactNode } from "react";
import type { Asset } from "../../api/types.ts";
import { Age } from "../../parts/age.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { SimState } from "../sims/sim-state.tsx";
import { SIM_NAMES, type SimType } from "../sims/sim-words.ts";
import { AllowanceSection } from "./allowance-section.tsx";
import classes from "./asset.module.css";
import { NetworkGroup } from "./network-group.tsx";
import { RefreshSim } from "./refresh-sim.tsx";
import { useSims } from "./sim-queries.ts";

interface Props {
  readonly asset: Asset;
  readonly type: SimType;
}

/** One SIM of the asset: what it is, what its operator said of it last, and its allowance. */
export function SimCard({ asset, type }: Props): ReactNode {
  const { supersim, prosim } = asset;
  return (
    <li className={classes.card}>
      <Title order={2}>{SIM_NAMES[type]}</Title>
      <State asset={asset} type={type} />
      <dl className={classes.facts}>
        {type === "supersim" && supersim && (
          <>
            <dt>SID</dt>
            <dd>{supersim.sid}</dd>
            <dt>ICCID</dt>
            <dd>{supersim.iccid}</dd>
            <dt>Network group</dt>
            <dd>
              <NetworkGroup asset={asset} group={supersim.network_group} />
            </dd>
          </>
        )}
        {type === "prosim" && prosim && (
          <>
            <dt>IMSI</dt>
            <dd>{prosim.imsi}</dd>
            <dt>ICCID</dt>
            <dd>{prosim.iccid}</dd>
            <dt>Service profile</dt>
            <dd>{prosim.service_profile}</dd>
          </>
        )}
      </dl>
      <AllowanceSection assetId={asset.uuid} type={type} />
    </li>
  );
}

function State({ asset, type }: Props): ReactNode {
  const sims = useSims(asset.uuid);
  return (
    <Loaded query={sims}>
      {(data) => {
        const sim = data.sims.find((each) => each.type === type);
        // An asset that was changed just now.
        if (!sim) return null;
        return (
          <>
            <SimState sim={sim} />
            <div className={classes.checked}>
              <span>
                {sim.checked_at === null ? (
                  "No operator was asked: this is what is stored here."
                ) : (
                  <>
                    Operator asked <Age at={sim.checked_at} />
                  </>
                )}
              </span>
              <RefreshSim assetId={asset.uuid} type={type} checkedAt={sim.checked_at} />
            </div>
          </>
        );
      }}
    </Loaded>
  );
}
