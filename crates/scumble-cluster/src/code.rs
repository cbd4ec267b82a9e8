//! The one function of ours that a cluster must know: the code of a value, by a dictionary that
//! comes with the query.

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use scumble_publisher::publish::levels::Coded;
use scumble_publisher::table::columns::Gathered;
use std::collections::HashMap;
use std::sync::Arc;

/// What queries call it.
pub const NAME: &str = "scumble_code";

/// `scumble_code(dictionary, value)`: the code of the value's text.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Code(Signature);

/// The function.
pub fn function() -> ScalarUDF {
    ScalarUDF::from(Code(Signature::any(2, Volatility::Immutable)))
}

/// A column of the codes of a column.
pub fn of(column: &Coded) -> String {
    let hex: String = dictionary(column).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{NAME}(X'{hex}', {})", crate::tables::quoted(&column.name))
}

/// Each text: its code, its length, itself.
fn dictionary(column: &Coded) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (text, code) in &column.codes {
        bytes.extend_from_slice(&code.to_le_bytes());
        bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

fn read(bytes: &[u8]) -> Option<HashMap<&str, u32>> {
    let (mut codes, mut rest) = (HashMap::new(), bytes);
    while !rest.is_empty() {
        let (code, more) = rest.split_first_chunk::<4>()?;
        let (length, more) = more.split_first_chunk::<4>()?;
        let (text, more) = more.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        codes.insert(std::str::from_utf8(text).ok()?, u32::from_le_bytes(*code));
        rest = more;
    }
    Some(codes)
}

impl ScalarUDFImpl for Code {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::UInt32)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let wrong = |what: &str| DataFusionError::Execution(format!("{NAME}: {what}"));
        let [dictionary, values] = &args.args[..] else {
            return Err(wrong("it takes a dictionary and a value"));
        };
        let ColumnarValue::Scalar(
            ScalarValue::Binary(Some(bytes))
            | ScalarValue::LargeBinary(Some(bytes))
            | ScalarValue::BinaryView(Some(bytes)),
        ) = dictionary
        else {
            return Err(wrong("the dictionary must be a constant"));
        };
        let codes = read(bytes).ok_or_else(|| wrong("the dictionary is damaged"))?;
        let array: ArrayRef = values.to_array(args.number_rows)?;
        let schema =
            Arc::new(Schema::new(vec![Field::new("value", array.data_type().clone(), true)]));
        let batch = RecordBatch::try_new(schema.clone(), vec![array])?;
        // Texts are made as reading makes them, once for every distinct value.
        let mut gathered = Gathered::new(&schema);
        gathered.add(&batch, None).map_err(|_| wrong("a value has no text"))?;
        let column = gathered.columns().columns.remove(0);
        let known: Vec<Option<u32>> =
            column.values.iter().map(|text| codes.get(text).copied()).collect();
        let code = |&value: &u32| {
            known[value as usize].ok_or_else(|| wrong("a value is new: the source has changed"))
        };
        let codes = column.codes.iter().map(code).collect::<Result<Vec<u32>>>()?;
        Ok(ColumnarValue::Array(Arc::new(UInt32Array::from(codes))))
    }
}
