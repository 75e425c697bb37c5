import { Button, Group, NativeSelect, Text, TextInput, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Confirm, Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { forecastText, readAllowance, toTyped, type Unit, UNITS, usedText } from "../sims/allowance-words.ts";
import { SIM_NAMES, type SimType } from "../sims/sim-words.ts";
import { useAllowance, useAllowanceChange } from "./sim-queries.ts";
import { usePermission } from "../../api/session.ts";
import type { Allowance } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { AllowanceBar } from "../sims/allowance-bar.tsx";
import classes from "./asset.module.css";

interface AllowanceDialogProps {
  readonly assetId: string;
  readonly type: SimType;
  /** The present one. */
  readonly bytes: number | undefined;
  readonly onClose: () => void;
}

const DEFAULT_UNIT: Unit = "MB";

/** Sets the allowance of a SIM by hand. */
function AllowanceDialog({ assetId, type, bytes, onClose }: AllowanceDialogProps): ReactNode {
  const [typed, setTyped] = useState(() => (bytes === undefined ? { text: "", unit: DEFAULT_UNIT } : toTyped(bytes)));
  const change = useAllowanceChange(assetId, type, onClose);
  const read = readAllowance(typed.text, typed.unit);
  const isWrong = read === undefined && typed.text.trim() !== "";
  return (
    <Dialog isOpen onClose={onClose} label={`Allowance of the ${SIM_NAMES[type]}`}>
      <Form
        action="Set"
        isPending={change.isPending}
        error={change.error}
        canSubmit={read !== undefined}
        onSubmit={() => change.mutate(read)}
      >
        <Group gap="xs" align="start" wrap="nowrap">
          <TextInput
            label="Each month"
            description="In UTC, of everything that the SIM transfers."
            inputWrapperOrder={["label", "input", "description", "error"]}
            inputMode="decimal"
            flex={1}
            value={typed.text}
            {...(isWrong && { error: "must be a number above 0, such as 500 or 1.5" })}
            onChange={({ currentTarget }) => setTyped({ ...typed, text: currentTarget.value })}
          />
          <NativeSelect
            label="Unit"
            data={Object.keys(UNITS)}
            value={typed.unit}
            onChange={({ currentTarget }) => setTyped({ ...typed, unit: currentTarget.value as Unit })}
          />
        </Group>
      </Form>
    </Dialog>
  );
}

interface AllowanceSectionProps {
  readonly assetId: string;
  readonly type: SimType;
}

const SOURCES = {
  manual: "Set by hand, which takes precedence over what the operator says.",
  operator: "The allowance is what the operator says.",
} as const;

/** The monthly allowance of a SIM: its use, whether it lasts, where it comes from, and its change. */
export function AllowanceSection({ assetId, type }: AllowanceSectionProps): ReactNode {
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

interface ActionsProps extends AllowanceSectionProps {
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
