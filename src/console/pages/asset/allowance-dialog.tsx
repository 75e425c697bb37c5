import { Group, NativeSelect, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { readAllowance, toTyped, type Unit, UNITS } from "../sims/allowance-words.ts";
import { SIM_NAMES, type SimType } from "../sims/sim-words.ts";
import { useAllowanceChange } from "./sim-queries.ts";

interface Props {
  readonly assetId: string;
  readonly type: SimType;
  /** The present one. */
  readonly bytes: number | undefined;
  readonly onClose: () => void;
}

const DEFAULT_UNIT: Unit = "MB";

/** Sets the allowance of a SIM by hand. */
export function AllowanceDialog({ assetId, type, bytes, onClose }: Props): ReactNode {
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
