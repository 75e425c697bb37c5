import { Button, Group, Text, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { usePermission } from "../../api/session.ts";
import type { Allowance } from "../../api/types.ts";
import { Age } from "../../parts/age.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { AllowanceBar } from "../sims/allowance-bar.tsx";
import { forecastText, usedText } from "../sims/allowance-words.ts";
import { SIM_NAMES, type SimType } from "../sims/sim-words.ts";
import classes from "./asset.module.css";
import { AllowanceDialog } from "./allowance-dialog.tsx";
import { useAllowance, useAllowanceChange } from "./sim-queries.ts";

interface Props {
  readonly assetId: string;
  readonly type: SimType;
}

const SOURCES = {
  manual: "Set by hand, which takes precedence over what the operator says.",
  operator: "The allowance is what the operator says.",
} as const;

/** The monthly allowance of a SIM: its use, whether it lasts, where it comes from, and its change. */
export function AllowanceSection({ assetId, type }: Props): ReactNode {
  const allowance = useAllowance(assetId, type);
  return (
    <section className={classes.allowance} aria-label={`Allowance of the ${SIM_NAMES[type]}`}>
      <Title order={3} mb={4}>
        Monthly allowance
      </Title>
      <Loaded query={allowance}>
        {(data) => (
          <>
            {data ? <Use allowance={data} /> : <Text size="sm">None: neither set here nor said by the operator.</Text>}
            <Actions assetId={assetId} type={type} allowance={data ?? undefined} />
          </>
        )}
      </Loaded>
    </section>
  );
}

function Use({ allowance }: { readonly allowance: Allowance }): ReactNode {
  const { source, as_of: asOf } = allowance;
  return (
    <>
      <AllowanceBar allowance={allowance} />
      <Text size="sm" fw={600}>
        {usedText(allowance)}
      </Text>
      <Text size="sm">{forecastText(allowance)}</Text>
      <Text size="xs" c="dimmed">
        {SOURCES[source]}{" "}
        {asOf !== undefined && (
          <>
            It was asked for the usage <Age at={asOf} />.
          </>
        )}
      </Text>
    </>
  );
}

interface ActionsProps extends Props {
  readonly allowance: Allowance | undefined;
}

function Actions({ assetId, type, allowance }: ActionsProps): ReactNode {
  const mayChange = usePermission("assets.connectivity");
  const [asked, setAsked] = useState<"set" | "remove">();
  const close = (): void => setAsked(undefined);
  const remove = useAllowanceChange(assetId, type, close);
  if (!mayChange) return null;
  const isManual = allowance?.source === "manual";
  const of = <span className="visually-hidden"> the allowance of the {SIM_NAMES[type]}</span>;
  return (
    <Group gap="xs" mt="xs">
      <Button size="compact-sm" variant="default" onClick={() => setAsked("set")}>
        {isManual ? "Change" : "Set by hand"}
        {of}
      </Button>
      {isManual && (
        <Button size="compact-sm" variant="default" onClick={() => setAsked("remove")}>
          Remove
          {of}
        </Button>
      )}
      {asked === "set" && <AllowanceDialog assetId={assetId} type={type} bytes={allowance?.bytes} onClose={close} />}
      <Confirm
        isOpen={asked === "remove"}
        title={`Remove the allowance of the ${SIM_NAMES[type]}?`}
        action="Remove"
        isPending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate(undefined)}
        onClose={close}
      >
        What its operator says counts again. Without that it has no allowance, and nothing warns before it is used up.
      </Confirm>
    </Group>
  );
}
