import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import type { Asset, AssetUpdate } from "../../../protocol/api-types.ts";
import { forgetSims, useSimRefresh, useSims } from "./sim-queries.ts";
import { Button, Group, NativeSelect, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { toFailure } from "../../api/failure.ts";
import { usePermission } from "../../api/session.ts";
import { FailureNote } from "../../parts/failure-note.tsx";
import { PendingButton } from "../../parts/form.tsx";
import { SIM_NAMES, SIM_TYPES, type SimType } from "../sims/sim-words.ts";
import classes from "./asset.module.css";
import { Age } from "../../parts/age.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { SimState } from "../sims/sim-state.tsx";
import { AllowanceSection } from "./allowance-section.tsx";
import { useSearchParams } from "react-router";
import { PeriodUsage } from "./period-usage.tsx";
import { type Period, PERIODS, readPeriod } from "./usage-days.ts";
import { Confirm } from "../../parts/dialog.tsx";
import { Empty } from "../../parts/empty.tsx";
import type { TabProps } from "./asset-queries.ts";

/** Changes an asset. Parts of a change may have been made when it fails, so the asset is fetched again either way. */
export function useAssetUpdate(id: string, onSuccess: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: AssetUpdate) => call("PATCH /v1/assets/{asset_id}", { path: { asset_id: id }, body }),
    onSuccess,
    onSettled: () => forgetSims(client, id),
  });
}

interface NetworkGroupProps {
  readonly asset: Asset;
  readonly group: string;
}

/** The network group of a Super SIM, and its change. */
export function NetworkGroup({ asset, group }: NetworkGroupProps): ReactNode {
  const mayChange = usePermission("assets.connectivity");
  const [isChanging, setChanging] = useState(false);
  if (isChanging) return <Change asset={asset} group={group} onClose={() => setChanging(false)} />;
  return (
    <Group gap="xs">
      {group}
      {mayChange && (
        <Button size="compact-sm" variant="default" onClick={() => setChanging(true)}>
          Change<span className="visually-hidden"> the network group</span>
        </Button>
      )}
    </Group>
  );
}

function Change({ asset, group, onClose }: NetworkGroupProps & { readonly onClose: () => void }): ReactNode {
  const [chosen, setChosen] = useState(group);
  const groups = useQuery({
    queryKey: ["network-groups"],
    queryFn: ({ signal }) => call("GET /v1/network-groups", { signal }),
  });
  const update = useAssetUpdate(asset.uuid, onClose);
  const names = groups.data?.network_groups.map(({ name }) => name) ?? [];
  return (
    <>
      <Group gap="xs">
        <NativeSelect
          aria-label="Network group"
          value={chosen}
          data={[...new Set([group, ...names])]}
          onChange={({ currentTarget }) => setChosen(currentTarget.value)}
        />
        <PendingButton
          size="xs"
          disabled={chosen === group}
          loading={update.isPending}
          onClick={() => update.mutate({ supersim: { network_group: chosen } })}
        >
          Save
        </PendingButton>
        <Button size="xs" variant="default" onClick={onClose}>
          Leave it
        </Button>
      </Group>
      {(update.error ?? groups.error) && <FailureNote failure={toFailure(update.error ?? groups.error)} />}
    </>
  );
}

interface RefreshSimProps {
  readonly assetId: string;
  readonly type: SimType;
  /** When the operator was asked last, in Unix seconds. */
  readonly checkedAt: number | null;
}

/** A button that asks the operator of a SIM now, and what came of it. */
export function RefreshSim({ assetId, type, checkedAt }: RefreshSimProps): ReactNode {
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

interface SimCardProps {
  readonly asset: Asset;
  readonly type: SimType;
}

/** One SIM of the asset: what it is, what its operator said of it last, and its allowance. */
export function SimCard({ asset, type }: SimCardProps): ReactNode {
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

function State({ asset, type }: SimCardProps): ReactNode {
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

const PARAMETER = "period";

/** Usage of the asset's SIMs by day over a period, which is in the address, beside what the device counted. */
export function UsageSection({ asset }: { readonly asset: Asset }): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const period = readPeriod(parameters.get(PARAMETER));
  const choose = (next: Period): void =>
    setParameters((before) => new URLSearchParams({ ...Object.fromEntries(before), [PARAMETER]: next }), {
      replace: true,
    });
  return (
    <section aria-labelledby="usage">
      <div className={classes.usageHead}>
        <Title order={2} id="usage">
          Usage by day
        </Title>
        <NativeSelect
          size="xs"
          label="Period (UTC)"
          data={Object.entries(PERIODS).map(([value, label]) => ({ value, label }))}
          value={period}
          onChange={({ currentTarget }) => choose(currentTarget.value as Period)}
        />
      </div>
      <PeriodUsage key={period} asset={asset} period={period} />
    </section>
  );
}

/** The SIMs of the asset, and what they have used beside what the device counted itself. */
export function SimsTab({ asset }: TabProps): ReactNode {
  const types = SIM_TYPES.filter((type) => asset[type] !== undefined);
  if (types.length === 0)
    return <Empty title="The asset has no SIM.">SIMs are given when an asset is registered.</Empty>;
  return (
    <Stack gap="lg">
      <Status asset={asset} />
      <ul className={classes.cards}>
        {types.map((type) => (
          <SimCard key={type} asset={asset} type={type} />
        ))}
      </ul>
      <UsageSection asset={asset} />
    </Stack>
  );
}

function Status({ asset }: { readonly asset: Asset }): ReactNode {
  const mayChange = usePermission("assets.connectivity");
  const [isAsking, setAsking] = useState(false);
  const update = useAssetUpdate(asset.uuid, () => setAsking(false));
  const next = nextStatus(asset);
  const verb = next === "active" ? "Activate" : "Deactivate";
  return (
    <Group gap="md">
      <Text>
        Status: <strong>{asset.status}</strong>
      </Text>
      {mayChange && (
        <Button size="xs" variant="default" onClick={() => setAsking(true)}>
          {verb} the SIMs
        </Button>
      )}
      <Confirm
        isOpen={isAsking}
        title={`${verb} all SIMs of ${asset.name}?`}
        action={verb}
        isPending={update.isPending}
        error={update.error}
        onConfirm={() => update.mutate({ status: next })}
        onClose={() => setAsking(false)}
      >
        {next === "inactive"
          ? "A device that has no other network is cut off. Its apps go on running."
          : "The SIMs connect again, and their usage is billed."}{" "}
        An operator may take a while to confirm it; until then the change is shown as pending.
      </Confirm>
    </Group>
  );
}

/** The status to change to: the other one than what is pending, or else than what there is. */
function nextStatus({ status, supersim, prosim }: Asset): Asset["status"] {
  const expected = supersim?.pending?.status ?? prosim?.pending?.status ?? status;
  return expected === "active" ? "inactive" : "active";
}
