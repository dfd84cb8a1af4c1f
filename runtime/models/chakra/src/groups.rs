//! Process groups: names with the ranks that each has.

use rustc_hash::FxHashMap;
use serde_json::Value;

/// Process groups by name; a group without ranks is that of all.
pub type ProcessGroups = FxHashMap<String, Vec<u32>>;

/// Reads the list that PyTorch's metadata has of the process groups: JSON within a Python list of one string,
/// or alone.
///
/// # Errors
/// The reason why it is no such list.
pub fn of_metadata(text: &str) -> Result<ProcessGroups, String> {
    let text = text.trim();
    let inner = [("['", "']"), ("[\"", "\"]")]
        .iter()
        .find_map(|(begin, end)| text.strip_prefix(begin)?.strip_suffix(end))
        .unwrap_or(text);
    if inner.is_empty() || inner == "[]" {
        return Ok(ProcessGroups::default());
    }
    let value: Value = serde_json::from_str(inner).map_err(|why| why.to_string())?;
    let list = value.as_array().ok_or("it is no list")?;
    let mut groups = ProcessGroups::default();
    for entry in list {
        let name = match entry.get("pg_name") {
            Some(Value::String(name)) => name.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => return Err("an entry has no pg_name".to_owned()),
        };
        let ranks =
            ranks(entry.get("ranks").unwrap_or(&Value::Null)).map_err(|why| format!("{name}: {why}"))?;
        groups.insert(name, ranks);
    }
    Ok(groups)
}

/// Reads a file of process groups: an object of JSON with a list of ranks for each name.
///
/// # Errors
/// The reason why it is no such object.
pub fn of_file(text: &str) -> Result<ProcessGroups, String> {
    let value: Value = serde_json::from_str(text).map_err(|why| why.to_string())?;
    let object = value.as_object().ok_or("it is no object with a list of ranks for each name")?;
    let group = |(name, value): (&String, &Value)| match ranks(value) {
        Ok(list) if list.is_empty() => Err(format!("group {name} has no ranks")),
        Ok(list) => Ok((name.clone(), list)),
        Err(why) => Err(format!("group {name}: {why}")),
    };
    object.iter().map(group).collect()
}

fn ranks(value: &Value) -> Result<Vec<u32>, String> {
    let Value::Array(list) = value else {
        return if value.is_null() { Ok(Vec::new()) } else { Err("its ranks are no list".to_owned()) };
    };
    let rank = |value: &Value| value.as_u64().and_then(|rank| u32::try_from(rank).ok());
    let list: Option<Vec<u32>> = list.iter().map(rank).collect();
    list.ok_or_else(|| "its ranks are no list of numbers".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pytorchs_list_of_groups_is_read_within_a_python_list_or_alone() {
        let json = r#"[{"pg_name": "0", "ranks": []}, {"pg_name": "1", "ranks": [0, 2], "group_size": 2}]"#;
        for text in [json.to_owned(), format!("['{json}']")] {
            let groups = of_metadata(&text).unwrap();
            assert_eq!((groups.len(), &groups["0"], &groups["1"]), (2, &vec![], &vec![0, 2]), "{text}");
        }
        assert!(of_metadata("[]").unwrap().is_empty());
        for (text, part) in [("['[{]']", "column"), ("[{}]", "pg_name"), ("7", "no list")] {
            assert!(of_metadata(text).unwrap_err().contains(part), "{text}");
        }
        assert!(of_metadata(r#"[{"pg_name": "1", "ranks": [-1]}]"#).unwrap_err().contains("numbers"));
    }

    #[test]
    fn a_file_of_groups_has_a_list_of_ranks_for_each_name() {
        assert_eq!(of_file(r#"{"1": [0, 1]}"#).unwrap()["1"], [0, 1]);
        for (text, part) in
            [("[]", "no object"), (r#"{"1": 3}"#, "no list"), (r#"{"1": []}"#, "no ranks"), ("{", "line 1")]
        {
            assert!(of_file(text).unwrap_err().contains(part), "{text}");
        }
    }
}
